"""Mechanisms: what is audited."""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function
from dpaudit.mechanisms.randomized_response import RandomizedResponse

__all__ = ["DPSGD", "Function", "RandomizedResponse"]
