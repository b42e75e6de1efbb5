"""The point estimate: a description, not a bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.rates import PointCriterion
from dpaudit.types import Counts


@dataclass(frozen=True)
class Point:
    """The epsilon at which the observed error rates would be the worst allowed.

    max{0, ln((1-d-FPR)/FNR), ln((1-d-FNR)/FPR)}; a direction whose denominator is 0 is
    skipped. It says nothing about how far the true rates may be from the observed ones, so it
    has no `bound` and decides nothing. Kairouz, Oh and Viswanath 2015.
    """

    def epsilon(self, counts: Counts, delta: float) -> float:
        """The estimate."""
        c = counts
        value = PointCriterion(delta)(np.array(c.fp), c.out, np.array(c.fn), c.inn)
        return max(0.0, float(value))
