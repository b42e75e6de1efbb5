"""White box: what every noisy update shows of a gradient canary."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic
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
