"""The trained parameters: how far they have gone along the canary's gradient."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.types import Array, Known, Observations


def _along(seen: Observations, known: Known) -> Array:
    """<theta_0 - theta_T, g*>: descent goes against the gradient."""
    moved: Array = np.asarray(seen["moved"], dtype=np.float64)
    return moved


class Weights(ThresholdAttack):
    """Says that the canary was in if the parameters have gone far against its gradient.

    For an adversary that has the trained parameters and knows where they started.
    """

    def __init__(self) -> None:
        super().__init__(Statistic("moved", frozenset({"moved"}), _along))
