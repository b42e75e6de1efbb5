"""Mechanisms: what is audited."""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function
from dpaudit.mechanisms.laplace_anonymized_learning import LaplaceAnonymizedLearning
from dpaudit.mechanisms.laplace_anonymizing_first import LaplaceAnonymizingFirst
from dpaudit.mechanisms.laplace_learning_first import LaplaceLearningFirst
from dpaudit.mechanisms.private_ensemble import PrivateEnsemble
from dpaudit.mechanisms.randomized_response import RandomizedResponse

__all__ = [
    "DPSGD",
    "Function",
    "LaplaceAnonymizedLearning",
    "LaplaceAnonymizingFirst",
    "LaplaceLearningFirst",
    "PrivateEnsemble",
    "RandomizedResponse",
]
