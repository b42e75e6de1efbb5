"""The loss threshold: the attack on a network that is used deterministically."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic, true_class
from dpaudit.types import Array, Known, Observations


def _log_probability(seen: Observations, known: Known) -> Array:
    """ln p(y' | x') from logits (trials, classes), the negative cross-entropy."""
    logits = np.asarray(seen["logits"], dtype=np.float64)
    probability: Array = log_softmax(logits, axis=-1)
    return probability[:, true_class(known, logits.shape[-1])]


minus_loss = Statistic("-loss", frozenset({"logits"}), _log_probability)
"""The canary's negative loss: larger means more like D', so the paper's 'loss < tau' reads
'-loss > -tau'."""


class Loss(ThresholdAttack):
    """Says that the canary was in if its loss is below a threshold.

    A model fits what it was trained on, so a small loss on the canary speaks for D'. One
    forward pass without dropout is all that this adversary sees. The weakest attack here, and
    the one that every stronger one is compared with.

    Yeom et al., Privacy Risk in Machine Learning (2018); Algorithm 1 of Shibahara, Miura, Kii
    and Ichikawa, Privacy Risk of Differentially Private Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__(minus_loss)
