"""A claim, and what is true instead: what a plan supposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from dpaudit.accounting.curves import Family, last_refuted
from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.results import NOTHING_TO_CHOOSE, Assumption, Bound
from dpaudit.types import Claim


class Prospect(Protocol):
    """What one estimator can be expected to show with n trials in each world, or n canaries."""

    @property
    def name(self) -> str: ...

    @property
    def assumption(self) -> Assumption: ...

    def ceiling(self, n: int) -> float:
        """The largest bound that so many could give."""
        ...

    def typical(self, n: int) -> float:
        """The bound of the median outcome."""
        ...

    def chance(self, n: int) -> float:
        """The probability of a bound above the claim; exact, or as the class says."""
        ...


@dataclass(frozen=True)
class Truth:
    """The claimed epsilon and the true one, at one delta, of a mechanism with such curves."""

    curves: Family
    claim: float
    true: float
    delta: float
    confidence: float

    @property
    def a(self) -> float:
        """The error probability."""
        return 1 - self.confidence

    @cached_property
    def parameter(self) -> float:
        """Of the true curve."""
        return located(self.curves, self.true, self.delta)


def located(curves: Family, epsilon: float, delta: float) -> float:
    """The parameter of the least leaking curve with an epsilon above this one.

    A bound is above epsilon just where this curve is refuted.
    """
    # The difference is 0 where epsilon is met, which is not above it.
    step = last_refuted(curves, lambda p: (epsilon - curves.epsilon(p, delta)) or 1e-12)
    if step >= curves.steps:
        raise BadInput(
            f"an epsilon of {epsilon:g} is more than can be planned for",
            "too-large",
            option="epsilon",
            value=epsilon,
        )
    return curves.parameter(step + 1)


# ----------------------------------------------------------------
# How many trials it takes: the least number that is enough.


MOST = 10**13
"""Models, which nobody trains."""


class Limited(Protocol):
    """An estimator that knows what so many trials could show at most."""

    def ceiling(self, out: int, inn: int, delta: float) -> float: ...


def least(
    enough: Callable[[int], bool], most: int, start: int = 1, growth: float = 2
) -> int | None:
    """The least number from `start` on that is enough; None: not even `most`.

    What is enough must stay so until it is `growth` times as much, not beyond; where that holds
    but roughly, as of a chance that rises like a saw's teeth, a number at which it turns.
    """
    low, high = start - 1, start
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(max(high + 1, int(growth * high)), most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


LIMITED: dict[str, Callable[[float], Limited]] = {
    "clopper-pearson": ClopperPearson,
    "exact-scan": ExactScan,
}
"""By name those whose ceiling depends on nothing but confidence, delta and the trials."""


def models_needed(claim: Claim, bound: Bound) -> int | None:
    """The least number of models that would have a ceiling above the claim.

    Judged as the bound was: on all models, which come in twos, or on the half that did not
    choose its rule. None: more than can be trained.
    """
    judge = LIMITED[bound.estimator](bound.confidence)
    share = 2 if bound.selection == NOTHING_TO_CHOOSE else 4
    n = least(lambda n: judge.ceiling(n, n, claim.delta) > claim.epsilon, MOST // share)
    return None if n is None else share * n
