"""Statistics of MC dropout: what T forward passes with dropout tell about the canary.

The adversary sees T probabilities of the canary's true class, or their mean and deviation
alone (`dpaudit.outputs`). A model that was trained on the
canary gives it a higher probability (mean, min, max) and is surer of it (1/std): Algorithm 2 of
Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian Neural
Network.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic, true_class
from dpaudit.types import Array, Known, Observations

SAMPLES = frozenset({"mc"})


def _of_class(name: str, seen: Observations, known: Known) -> Array:
    """What is released under a name about the canary's true class, in double precision."""
    array = np.asarray(seen[name])
    return array[..., true_class(known, array.shape[-1])].astype(np.float64)


def _inverse_deviation(seen: Observations, known: Known) -> Array:
    """1/std, and +inf where std = 0: at T = 1 always, after quantisation often."""
    std = _of_class("std", seen, known)
    return np.divide(1.0, std, out=np.full_like(std, np.inf), where=std != 0)


def _reduced(reduce: Callable[..., Array], seen: Observations, known: Known) -> Array:
    return reduce(_of_class("mc", seen, known), axis=1)


mean = Statistic("mean", frozenset({"mean"}), partial(_of_class, "mean"))
inv_std = Statistic("inv_std", frozenset({"std"}), _inverse_deviation)
min_ = Statistic("min", SAMPLES, partial(_reduced, np.min))
max_ = Statistic("max", SAMPLES, partial(_reduced, np.max))


class Mean(ThresholdAttack):
    """Says that the canary was in if its mean MC-dropout probability is high.

    The mean over T forward passes is the prediction that a Bayesian network releases. It
    averages the dropout noise away, so it sees a little more than one deterministic pass.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__(mean)


class InvStd(ThresholdAttack):
    """Says that the canary was in if MC dropout is sure of it: 1/std is high.

    The standard deviation over T forward passes is the uncertainty that a Bayesian network
    releases; a record that was trained on should be less uncertain. With one pass (T = 1)
    every trial has 1/std = infinity and the attack knows nothing.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__(inv_std)


class Min(ThresholdAttack):
    """Says that the canary was in if even its lowest MC-dropout probability is high.

    Needs all T samples, not only their mean and deviation.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__(min_)


class Max(ThresholdAttack):
    """Says that the canary was in if its highest MC-dropout probability is high.

    Needs all T samples, not only their mean and deviation.

    Algorithm 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def __init__(self) -> None:
        super().__init__(max_)
