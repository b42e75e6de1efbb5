"""Mechanisms, what is audited, and their groups of settings."""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function

__all__ = [
    "DPSGD",
    "Function",
]
