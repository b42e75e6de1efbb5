"""Networks that Laplace noise on single numbers makes private: in data, parameters or updates.

Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; the report that is
cited here is in Japanese).

- `noise`: clamped Laplace noise, what it leaks, and the attack `laplace`
- `network`: networks, limits of their parameters, and ranges of what a record adds
- `training`: training with and without noise, and its settings
- `canary`: the canary `negative`, and the rows of either world
- `learning_first`, `anonymizing_first`, `anonymized_learning`: the mechanisms
"""

from dpaudit.papers.laplace.anonymized_learning import (
    Counterexample,
    LaplaceAnonymizedLearning,
    Reading,
)
from dpaudit.papers.laplace.anonymizing_first import LaplaceAnonymizingFirst
from dpaudit.papers.laplace.canary import Negative
from dpaudit.papers.laplace.learning_first import LaplaceLearningFirst, WorstCase
from dpaudit.papers.laplace.noise import Laplace
from dpaudit.papers.laplace.training import Perceptron, Thresholds

__all__ = [
    "Counterexample",
    "Laplace",
    "LaplaceAnonymizedLearning",
    "LaplaceAnonymizingFirst",
    "LaplaceLearningFirst",
    "Negative",
    "Perceptron",
    "Reading",
    "Thresholds",
    "WorstCase",
]
