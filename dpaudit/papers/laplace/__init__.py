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
    play_counterexample,
)
from dpaudit.papers.laplace.anonymizing_first import Groups, LaplaceAnonymizingFirst
from dpaudit.papers.laplace.canary import Negative
from dpaudit.papers.laplace.learning_first import LaplaceLearningFirst, WorstCase
from dpaudit.papers.laplace.network import Limits, Network
from dpaudit.papers.laplace.noise import (
    Laplace,
    joint_epsilon,
    leak,
    log_likelihood_ratio,
    release,
)
from dpaudit.papers.laplace.training import Anonymized, Course, Perceptron, Thresholds, train

__all__ = [
    "Anonymized",
    "Counterexample",
    "Course",
    "Groups",
    "Laplace",
    "LaplaceAnonymizedLearning",
    "LaplaceAnonymizingFirst",
    "LaplaceLearningFirst",
    "Limits",
    "Negative",
    "Network",
    "Perceptron",
    "Reading",
    "Thresholds",
    "WorstCase",
    "joint_epsilon",
    "leak",
    "log_likelihood_ratio",
    "play_counterexample",
    "release",
    "train",
]
