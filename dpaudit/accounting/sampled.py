"""Families of which only a few curves are computed: interpolated for a plan, or tabulated.

An accountant takes a tenth of a second for each curve of DP-SGD, which is little for a bound, and
much for a plan or a calibration, which ask for hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from dpaudit import accounting
from dpaudit.accounting import privacy_loss
from dpaudit.accounting.curves import DPSGDFamily, Family, Numbers
from dpaudit.accounting.search import first_above
from dpaudit.results import Assumption
from dpaudit.types import Array

RATIO = 1.2
"""The ratio of neighbouring noise multipliers: epsilon and area are right to about 1 %."""

TINY = 1e-300


@dataclass(frozen=True)
class Sampled:
    """DP-SGD's curves by noise multiplier, interpolated between every 1.2-fold one.

    For a plan: nothing computed with it is a bound. Quantiles of Gaussians are interpolated, in
    which the curves are nearly straight lines in one over the noise multiplier, as those of a
    Gaussian mechanism are.
    """

    curves: DPSGDFamily

    @property
    def assumption(self) -> Assumption:
        return self.curves.assumption

    @property
    def steps(self) -> int:
        return self.curves.steps

    def parameter(self, step: int) -> float:
        return self.curves.parameter(step)

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return self._between(parameter, lambda s: self.curves.trade_off(s, x))

    def inn(self, parameter: float, u: Numbers) -> Array:
        return self._between(parameter, lambda s: self.curves.inn(s, u))

    def area(self, parameter: float) -> float:
        return float(self._between(parameter, lambda s: np.asarray(self.curves.area(s))))

    def epsilon(self, parameter: float, delta: float) -> float:
        if math.isinf(parameter):
            return 0.0
        low, high, share = _knots(parameter)
        at_low, at_high = (_epsilon(self.curves, s, delta) for s in (low, high))
        if min(at_low, at_high) <= 0:
            return (1 - share) * at_low + share * at_high
        # The logarithm, over that of the noise multiplier, is nearly straight.
        place = math.log(parameter / low) / math.log(high / low) if high > low else 0.0
        return math.exp((1 - place) * math.log(at_low) + place * math.log(at_high))

    def _between(self, parameter: float, value: Callable[[float], Array]) -> Array:
        if math.isinf(parameter):
            return value(parameter)
        low, high, share = _knots(parameter)
        ends = (ndtri(np.clip(value(s), TINY, 1 - 1e-16)) for s in (low, high))
        return np.asarray(ndtr(sum(w * q for w, q in zip((1 - share, share), ends, strict=True))))


def planning_family(curves: Family) -> Family:
    """Return the family that a plan uses: exact where that costs nothing."""
    return Sampled(curves) if isinstance(curves, DPSGDFamily) else curves


def _knots(parameter: float) -> tuple[float, float, float]:
    """Return the noise multipliers around one, and its place between their inverses."""
    place = math.log(parameter / accounting.LEAST_NOISE) / math.log(RATIO)
    low = accounting.LEAST_NOISE * RATIO ** math.floor(place + 1e-9)
    high = low * RATIO
    return low, high, min(1.0, max(0.0, (1 / low - 1 / parameter) / (1 / low - 1 / high)))


@lru_cache(maxsize=privacy_loss.KEPT)
def _epsilon(curves: DPSGDFamily, noise_multiplier: float, delta: float) -> float:
    """Return the epsilon at which max over x of {1 - f(x) - e^epsilon x} is delta.

    From the curve that is there already: another tenth of a second would make it a lower bound.
    """
    x, y = curves._sides(noise_multiplier)[0]
    gain = y - delta
    usable = (gain > 0) & (x > 0)
    return max(0.0, float(np.log(gain[usable] / x[usable]).max())) if usable.any() else 0.0


@dataclass(frozen=True)
class Tabulated:
    """Some steps of a family, in their order; the first is 0, no leak.

    A bound under it is the same rounded down to the table: the most leaking curve of these that
    is refuted, and never above the last. It is above the truth exactly if that of the whole
    family is, as long as the first step beyond the truth is in the table, because all curves
    below a refuted one are.
    """

    family: Family
    kept: tuple[int, ...]

    @classmethod
    def beyond(
        cls, family: Family, epsilon: float, delta: float, size: int, reach: float
    ) -> Tabulated:
        """Return a table up to `reach` times the true epsilon, with the first step above it."""
        ends = epsilon, reach * epsilon or 2.0
        first, end = (min(family.steps, first_above(family, e, delta)) for e in ends)
        even = np.linspace(0, end, size).astype(int).tolist()
        return cls(family, tuple(sorted({*even, first})))

    @property
    def assumption(self) -> Assumption:
        return self.family.assumption

    @property
    def steps(self) -> int:
        return len(self.kept) - 1

    def parameter(self, step: int) -> float:
        return self.family.parameter(self.kept[step])

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return self.family.trade_off(parameter, x)

    def inn(self, parameter: float, u: Numbers) -> Array:
        return self.family.inn(parameter, u)

    def area(self, parameter: float) -> float:
        return self.family.area(parameter)

    def epsilon(self, parameter: float, delta: float) -> float:
        return self.family.epsilon(parameter, delta)
