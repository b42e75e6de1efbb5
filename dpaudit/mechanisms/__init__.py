"""Mechanisms: what is audited."""

from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function
from dpaudit.mechanisms.laplace_anonymized_learning import LaplaceAnonymizedLearning
from dpaudit.mechanisms.laplace_anonymizing_first import LaplaceAnonymizingFirst
from dpaudit.mechanisms.laplace_learning_first import LaplaceLearningFirst
from dpaudit.mechanisms.p3gm import P3GM
from dpaudit.mechanisms.p3gm_em import P3GMEM
from dpaudit.mechanisms.p3gm_pca import P3GMPCA
from dpaudit.mechanisms.private_ensemble import PrivateEnsemble
from dpaudit.mechanisms.randomized_response import RandomizedResponse

__all__ = [
    "DPSGD",
    "P3GM",
    "P3GMEM",
    "P3GMPCA",
    "Function",
    "LaplaceAnonymizedLearning",
    "LaplaceAnonymizingFirst",
    "LaplaceLearningFirst",
    "PrivateEnsemble",
    "RandomizedResponse",
]
