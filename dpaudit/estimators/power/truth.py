"""A claim, and what is true instead: what a plan supposes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from dpaudit.accounting.curves import Family, last_refuted
from dpaudit.errors import BadInput
from dpaudit.types import Assumption


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
