"""The data that these tests share."""

from made_up_data import data

__all__ = ["data"]
