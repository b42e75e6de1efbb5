"""A released second moment: could the canary have been in it?"""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.types import Array, Known, Observations


def _score(seen: Observations, known: Known) -> Array:
    """The smallest eigenvalue above the second moment of D', or the log-likelihood ratio."""
    return np.asarray(seen["gap" if "gap" in seen else "moment_ratio"], dtype=np.float64)


class SecondMoment(FixedAttack):
    """Says that the canary was out if the released second moment is too small to hold it.

    For DP-PCA. Wishart noise never lessens a second moment in any direction, so that one that is
    below that of D' somewhere, by its smallest eigenvalue, cannot have come from D': there are no
    errors on that side. Inside what both worlds can release the ratio is the same everywhere.
    Of Gaussian noise it is the log-likelihood ratio, the best score there is (Neyman and Pearson
    1933). Nothing is chosen: all trials judge.
    """

    any_of = frozenset({"gap", "moment_ratio"})

    def __init__(self) -> None:
        super().__init__("second-moment", Statistic("second moment", frozenset(), _score))
