"""Mechanisms, what is audited, and their groups of settings."""

from dpaudit.ensemble import Weighting
from dpaudit.ensemble.scaling import Scaling
from dpaudit.mechanisms.dpsgd import DPSGD
from dpaudit.mechanisms.function import Function
from dpaudit.mechanisms.laplace_anonymized_learning import (
    Counterexample,
    LaplaceAnonymizedLearning,
    Reading,
)
from dpaudit.mechanisms.laplace_anonymizing_first import LaplaceAnonymizingFirst
from dpaudit.mechanisms.laplace_learning_first import LaplaceLearningFirst, WorstCase
from dpaudit.mechanisms.laplace_training import Perceptron, Thresholds
from dpaudit.mechanisms.p3gm import P3GM, FirstPhase
from dpaudit.mechanisms.p3gm_em import P3GMEM
from dpaudit.mechanisms.p3gm_pca import P3GMPCA
from dpaudit.mechanisms.private_ensemble import Exchange, PrivateEnsemble
from dpaudit.mechanisms.randomized_response import RandomizedResponse, Users
from dpaudit.p3gm.design import Architecture

__all__ = [
    "DPSGD",
    "P3GM",
    "P3GMEM",
    "P3GMPCA",
    "Architecture",
    "Counterexample",
    "Exchange",
    "FirstPhase",
    "Function",
    "LaplaceAnonymizedLearning",
    "LaplaceAnonymizingFirst",
    "LaplaceLearningFirst",
    "Perceptron",
    "PrivateEnsemble",
    "RandomizedResponse",
    "Reading",
    "Scaling",
    "Thresholds",
    "Users",
    "Weighting",
    "WorstCase",
]
