"""White-box attacks on a gradient canary: noisy updates, trained parameters, single steps."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import StatisticsAttack
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
    return np.asarray(ratios.sum(axis=1))


class Updates(StatisticsAttack):
    """Guess D' if the updates point along the canary's gradient.

    For an adversary that sees every noisy update: the log-likelihood ratio of their inner products
    with the canary's gradient, the best possible score (Neyman and Pearson 1933). With many
    canaries in one training, each has its own score.
    """

    form = Statistic("log likelihood ratio", frozenset({"updates"}), _likelihood_ratio)


class Weights(StatisticsAttack):
    """Guess D' if the parameters moved far against the canary's gradient.

    For an adversary that has the trained parameters and knows the initial ones. The score is
    <theta_0 - theta_T, g*>: descent goes against the gradient.

    Nasr et al., Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning
    (2021).
    """

    form = released("moved")


class Steps(StatisticsAttack):
    """Guess that the canary was in a step if its noisy update points along its gradient.

    For an adversary that adds its gradient to every step of one training and to no step of another.
    Each step is a Gaussian mechanism of its own, so two trainings are thousands of trials. The
    score is <u_t, g*> without the records' part, in units of C: noise, and the canary. The
    accountant composes the result of one step.

    Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023).
    """

    form = released("step")
