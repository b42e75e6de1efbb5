"""Numbers that were released with Laplace noise, as likely in one world as in the other."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.laplace import log_likelihood_ratio
from dpaudit.types import Array, Known, Observations

SEEN = frozenset({"noisy", "ratios", "trained"})


def _score(seen: Observations, known: Known) -> Array:
    """The log-likelihood ratio of what is seen, or how far it lies from D towards D'."""
    if "ratios" in seen:
        return np.asarray(np.asarray(seen["ratios"], np.float64).sum(axis=1))
    out, inn = (np.asarray(known[f"exact_{world}"], np.float64) for world in ("out", "in"))
    if "noisy" in seen:
        low, high, scale = (np.asarray(known[end]) for end in ("low", "high", "scale"))
        noisy = np.asarray(seen["noisy"], np.float64)
        return log_likelihood_ratio(noisy, out, inn, low, high, scale)
    return np.asarray(np.asarray(seen["trained"], np.float64) @ (inn - out))


class Laplace(ThresholdAttack):
    """Says that the canary was in if all released numbers together are likelier with it.

    For numbers that each have Laplace noise of their own: the joint log-likelihood ratio, the best
    score there is (Neyman and Pearson 1933), because the adversary knows what either world would
    release without noise. Of updates it is added up over all of them. Of parameters that noisy
    updates have led to, no ratio is known; their score is how far they lie in the direction in
    which the canary pulls, sum of (w' - w) times what is released.
    """

    def __init__(self) -> None:
        super().__init__(Statistic("laplace score", frozenset(), _score))
        self.any_of = SEEN
