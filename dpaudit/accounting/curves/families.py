"""What a family of curves promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, Union, runtime_checkable

import numpy as np
from scipy.special import expit, ndtr, ndtri

from dpaudit import accounting
from dpaudit.errors import BadInput
from dpaudit.results import Assumption
from dpaudit.types import Array

Numbers = Union[Array, float]


@runtime_checkable
class Family(Protocol):
    """Curves by step: 0 leaks nothing, `steps` the most that is looked at.

    `parameter` is what a step is called in the field (mu, a noise multiplier, epsilon). All
    others may err, numerically, only towards a smaller bound: a curve below the true one, an
    area above, an epsilon below.
    """

    @property
    def assumption(self) -> Assumption: ...

    @property
    def steps(self) -> int: ...

    def parameter(self, step: int) -> float: ...

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        """f(x), the least false-negative rate at a false-positive rate of x."""
        ...

    def inn(self, parameter: float, u: Numbers) -> Array:
        """In-trials of uniform u, of CDF 1 - f, where out-trials are uniform: small is in."""
        ...

    def area(self, parameter: float) -> float:
        """The largest AUC of any attack, 1 - the integral of f."""
        ...

    def epsilon(self, parameter: float, delta: float) -> float:
        """The epsilon at `delta` of what has this curve; where trials are steps, of all steps."""
        ...

    def __hash__(self) -> int:
        """A family is a value: what takes long is found once for equal ones."""
        ...


# ----------------------------------------------------------------
# The curves of (epsilon, delta) itself.


@dataclass(frozen=True)
class Pure:
    """All that is (epsilon, delta)-DP, for one delta; the parameter is epsilon.

    f(x) = max{0, 1-d-e^eps x, e^-eps (1-d-x)}, with its corner at x* = (1-d)/(1+e^eps); the
    largest AUC is 1 - (1-d)^2/(1+e^eps). Kairouz, Oh and Viswanath 2015.
    """

    delta: float
    assumption: ClassVar[Assumption] = "none"
    steps: ClassVar[int] = 2**30
    largest: ClassVar[float] = 32.0

    def parameter(self, step: int) -> float:
        return self.largest * step / self.steps

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        x = np.asarray(x, dtype=float)
        steep = 1 - self.delta - math.exp(parameter) * x
        flat = math.exp(-parameter) * (1 - self.delta - x)
        return np.maximum(0.0, np.maximum(steep, flat))

    def inn(self, parameter: float, u: Numbers) -> Array:
        # Three pieces: a point mass at 0, then e^eps as dense as out-trials, then e^-eps.
        corner, height = self._corner(parameter)
        past = np.asarray(u, dtype=float) - self.delta
        steep = np.maximum(past, 0.0) * math.exp(-parameter)
        return np.where(past < height, steep, corner + (past - height) * math.exp(parameter))

    def area(self, parameter: float) -> float:
        return float(1 - (1 - self.delta) ** 2 * expit(-parameter))

    def epsilon(self, parameter: float, delta: float) -> float:
        if delta < self.delta:
            raise BadInput(
                f"curves for delta {self.delta:g} say nothing of delta {delta:g}",
                "out-of-range",
                option="delta",
                value=delta,
            )
        # d(e) = delta + (1-delta)(e^eps - e^e)/(1+e^eps), solved for e.
        spent = (delta - self.delta) / ((1 - self.delta) * expit(parameter))
        return max(0.0, parameter + math.log1p(-spent)) if spent < 1 else 0.0

    def _corner(self, parameter: float) -> tuple[float, float]:
        return float((1 - self.delta) * expit(-parameter)), float(
            (1 - self.delta) * expit(parameter)
        )


# ----------------------------------------------------------------
# The curves of Gaussian mechanisms.


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian mechanism; the parameter is mu, its sensitivity over its deviation.

    f(x) = Phi(Phi^-1(1-x) - mu), the largest AUC is Phi(mu/sqrt 2).
    """

    assumption: ClassVar[Assumption] = "gaussian"
    steps: ClassVar[int] = 2**30
    largest: ClassVar[float] = 32.0

    def parameter(self, step: int) -> float:
        return self.largest * step / self.steps

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return np.asarray(ndtr(-ndtri(x) - parameter))

    def inn(self, parameter: float, u: Numbers) -> Array:
        return np.asarray(ndtr(ndtri(u) - parameter))

    def area(self, parameter: float) -> float:
        return float(ndtr(parameter / math.sqrt(2)))

    def epsilon(self, parameter: float, delta: float) -> float:
        refuse_zero(delta)
        return accounting.gaussian_epsilon(parameter, delta) if parameter > 0 else 0.0


def refuse_zero(delta: float) -> None:
    """Refuse what every curve with Gaussian noise lacks."""
    if delta == 0:
        raise BadInput(
            "a curve with Gaussian noise has no finite epsilon at delta 0; give a delta",
            "needs-delta",
            option="delta",
            value=delta,
        )


# ----------------------------------------------------------------
# The most leaking curve of a family that is refuted.


def margin(family: Family, parameter: float, u0: float, u1: float) -> float:
    """Above 0 where no attack under the curve could have rates as low as (u0, u1).

    As quantiles of a Gaussian, in which most curves are nearly straight.
    """
    return float(ndtri(family.trade_off(parameter, u0)) - ndtri(u1))


def last_refuted(family: Family, shown: Callable[[float], float]) -> int:
    """The most leaking step that is refuted, by a number above 0; 0 where none is.

    The number may only fall with the leak. Which step is found does not depend on its size, but
    how soon: a curve takes the accountant a while, so the steps between two numbers of either
    sign are interpolated (Oliveira and Takahashi 2020, "An enhancement of the bisection method
    average performance preserving minmax optimality").
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
