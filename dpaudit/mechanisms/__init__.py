"""Mechanisms: what is audited."""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function

__all__ = ["DPSGD", "Function"]
