"""Searches for the most leaking curve that is refuted, and the least above an epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import ndtri

from dpaudit.accounting.curves import Family


def margin(family: Family, parameter: float, u0: float, u1: float) -> float:
    """Above 0 where no attack under the curve could have rates as low as (u0, u1).

    As quantiles of a Gaussian, in which most curves are nearly straight.
    """
    return float(ndtri(family.trade_off(parameter, u0)) - ndtri(u1))


def last_refuted(family: Family, shown: Callable[[float], float]) -> int:
    """Return the most leaking step with a number above 0, which refutes it; 0 if no step has one.

    The number may only fall with the leak. Only its sign decides which step is returned; its size
    makes the search faster. The accountant needs time for each curve, so the steps between two
    numbers of opposite sign are interpolated (Oliveira and Takahashi 2020, "An enhancement of the
    bisection method average performance preserving minmax optimality").
    """
    low, high = 0, family.steps + 1
    at_low, at_high = shown(family.parameter(0)), -math.inf
    if not at_low > 0:
        return 0  # not even that nothing leaks: curves of next to no leak take the longest
    middle = max(1, family.steps // 8)  # most noise multipliers of use lie around it
    width = allowed = high
    while high - low > 1:
        found = shown(family.parameter(middle))
        if found > 0:
            low, at_low = middle, found
        else:
            high, at_high = middle, found
        if high > family.steps:
            middle = min(2 * low, family.steps)
        elif not (math.isfinite(at_low) and math.isfinite(at_high)):
            middle = (low + high) // 2
            width = allowed = high - low
        else:
            middle = _interpolated(low, high, at_low / (at_low - at_high), width, allowed)
            allowed = max(1, allowed // 2)  # only a few steps more than bisection at worst
    return low


def first_above(family: Family, epsilon: float, delta: float) -> int:
    """Return the least leaking step with an epsilon above this one; `steps` + 1 if there is none.

    A bound is above epsilon just where this step is refuted.
    """
    # The difference is 0 where epsilon is met, which is not above it.
    at = family.epsilon
    return last_refuted(family, lambda p: (epsilon - at(p, delta)) or 1e-12) + 1


def _interpolated(low: int, high: int, share: float, width: int, allowed: int) -> int:
    """A step where the number is about 0, with no more than `allowed` on either side of it."""
    middle = (low + high) / 2
    guess = low + share * (high - low)
    # A little towards the middle, so that the other end moves, too.
    nudge = max(1.0, 0.2 * (high - low) ** 2 / width)
    guess += math.copysign(min(nudge, abs(middle - guess)), middle - guess)
    reach = max(0.0, allowed - (high - low) / 2)
    guess = min(max(guess, middle - reach), middle + reach)
    return min(max(round(guess), low + 1), high - 1)
