"""Released parameters of a mixture: as likely in one world as in the other."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.types import Array, Known, Observations


def _likelihood_ratio(seen: Observations, known: Known) -> Array:
    """The log-likelihood ratio, of which large sizes are shown by their logarithm.

    It can be astronomical. In the order of scores, which is all that counts, nothing changes.
    """
    return np.asarray(np.arcsinh(np.asarray(seen["mixture_ratio"], dtype=np.float64)))


class Mixture(FixedAttack):
    """Says that the canary was in if the released parameters are likelier with it.

    For DP-EM, and whoever knows all records but does not know which of two was there: the
    log-likelihood ratio of all that every iteration released, the best score there is (Neyman and
    Pearson 1933). Nothing is chosen: all trials judge.
    """

    def __init__(self) -> None:
        needs = frozenset({"mixture_ratio"})
        super().__init__("mixture", Statistic("log likelihood ratio", needs, _likelihood_ratio))
