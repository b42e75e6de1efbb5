"""Mechanisms: what is audited."""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function
from dpaudit.mechanisms.private_ensemble import PrivateEnsemble
from dpaudit.mechanisms.randomized_response import RandomizedResponse

__all__ = ["DPSGD", "Function", "PrivateEnsemble", "RandomizedResponse"]
