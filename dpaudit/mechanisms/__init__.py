"""Mechanisms: what is audited."""

from dpaudit.mechanisms.dpsgd import DPSGD

__all__ = ["DPSGD"]
