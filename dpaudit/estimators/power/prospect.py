"""The base class of forecasts: a claim, the true leak, and searches for the least number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpaudit.accounting.curves import Family
from dpaudit.accounting.search import first_above
from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.results import NOTHING_TO_CHOOSE, Assumption, Bound
from dpaudit.types import Claim

MOST = 10**13
"""Models, which nobody trains."""


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
        """The parameter of the true curve."""
        return least_parameter_above(self.curves, self.true, self.delta)


@dataclass(frozen=True)
class Prospect(ABC):
    """A forecast of what one estimator shows with n trials in each world, or n canaries.

    `assumed` are the curves that it refutes one by one.
    """

    estimator: Any
    assumed: Family
    truth: Truth

    @property
    def name(self) -> str:
        """The estimator's name."""
        return str(self.estimator.name)

    @property
    def assumption(self) -> Assumption:
        """The assumption of its bound."""
        return self.assumed.assumption

    @cached_property
    def claimed(self) -> float:
        """The parameter of the curve that must be refuted."""
        return least_parameter_above(self.assumed, self.truth.claim, self.truth.delta)

    def ceiling(self, n: int) -> float:
        """Return the largest bound that this number could give."""
        return float(self.estimator.ceiling(n, n, self.truth.delta))

    def chance(self, n: int) -> float:
        """Return the probability of a bound above the claim."""
        return self._chance(n) if self.ceiling(n) > self.truth.claim else 0.0

    @abstractmethod
    def typical(self, n: int) -> float:
        """Return the bound of the median outcome."""

    @abstractmethod
    def _chance(self, n: int) -> float:
        """Return that probability where it is not 0: exact, or as the class says."""

    def _shown(self, outcome: Any) -> float:
        """Return the estimator's bound on an outcome."""
        return float(self.estimator.bound(outcome, self.truth.delta).epsilon)


def least_parameter_above(curves: Family, epsilon: float, delta: float) -> float:
    """Return the parameter of the least leaking curve with an epsilon above this one."""
    step = first_above(curves, epsilon, delta)
    if step > curves.steps:
        raise BadInput(
            f"an epsilon of {epsilon:g} is more than can be planned for",
            "too-large",
            option="epsilon",
            value=epsilon,
        )
    return curves.parameter(step)


def least(
    enough: Callable[[int], bool], most: int, start: int = 1, growth: float = 2
) -> int | None:
    """Return the least number from `start` on that is enough; None: not even `most`.

    What is enough must stay so until it is `growth` times as much, not beyond. Where that holds
    only roughly, as power does not rise smoothly, it is a number at which the answer changes.
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


LIMITED = {"clopper-pearson": ClopperPearson, "exact-scan": ExactScan}
"""Estimators whose ceiling depends on nothing but confidence, delta and the trials, by name."""


def models_needed(claim: Claim, bound: Bound) -> int | None:
    """Return the least number of models that would have a ceiling above the claim.

    Judged as the bound was: on all models, which come in twos, or on the half that did not
    choose its rule. None: more than can be trained.
    """
    judge = LIMITED[bound.estimator](bound.confidence)
    share = 2 if bound.selection == NOTHING_TO_CHOOSE else 4
    n = least(lambda n: judge.ceiling(n, n, claim.delta) > claim.epsilon, MOST // share)
    return None if n is None else share * n
