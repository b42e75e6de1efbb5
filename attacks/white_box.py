"""White box: what every noisy update shows of a gradient canary."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic, released
from dpaudit.types import Array, Known, Observations


def _likelihood_ratio(seen: Observations, known: Known) -> Array:
    """sum over t of ln(1 - q + q exp((2 <u_t, g*> - 1) / (2 s^2))), u_t in units of C.

    Of full batches, q = 1, it grows with the sum of <u_t, g*> and with nothing else.
    """
    u = np.asarray(seen["updates"], dtype=np.float64)
    q, s = float(known["sample_rate"]), float(known["noise_multiplier"])
    with np.errstate(divide="ignore"):  # ln 0, where every record is in every batch
        ratios = np.logaddexp(np.log1p(-q), np.log(q) + (2 * u - 1) / (2 * s**2))
    total: Array = ratios.sum(axis=1)
    return total


class Updates(ThresholdAttack):
    """Says that the canary was in if the updates point along its gradient.

    For an adversary that sees every noisy update: the log-likelihood ratio of its inner
    products with the canary's gradient, the best score there is (Neyman and Pearson 1933). Of
    many canaries in one training each has a score of its own.
    """

    def __init__(self) -> None:
        super().__init__(
            Statistic("log likelihood ratio", frozenset({"updates"}), _likelihood_ratio)
        )


# ----------------------------------------------------------------
# The trained parameters: how far they have gone along the canary's gradient.


moved = released("moved")
"""<theta_0 - theta_T, g*>: descent goes against the gradient."""


class Weights(ThresholdAttack):
    """Says that the canary was in if the parameters have gone far against its gradient.

    For an adversary that has the trained parameters and knows where they started.

    Nasr et al., Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning
    (2021).
    """

    def __init__(self) -> None:
        super().__init__(moved)


# ----------------------------------------------------------------
# Single steps of two trainings, each of which is a trial of its own.


step = released("step")
"""<u_t, g*> without what the records had put in, in units of C: noise, and the canary."""


class Steps(ThresholdAttack):
    """Says that the canary was in a step if its noisy update points along its gradient.

    For an adversary that puts its gradient into every step of one training and into none of
    another: each step is a Gaussian mechanism of its own, so that two trainings are thousands of
    trials. What they show of one step is composed by the accountant.

    Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023).
    """

    def __init__(self) -> None:
        super().__init__(step)
