"""Estimators held to what they were asked: whoever wrote one, its bound is judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from dpaudit.errors import blamed
from dpaudit.protocols import Criterion, Estimator
from dpaudit.types import Assumption, Bound, Outcome


@dataclass(frozen=True)
class Checked(Estimator):
    """An estimator, whoever wrote it, whose bounds are what they were asked to be."""

    name: str
    estimator: Estimator
    confidence: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes", self.estimator.takes)

    @property
    def criterion(self) -> Criterion | None:
        """By which rules are chosen for it, where it says so."""
        return self.estimator.criterion

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        with blamed(f"the estimator {self.name}"):
            bound = self.estimator.bound(outcome, delta)
            if not isinstance(bound, Bound):
                raise TypeError(f"it gave back {type(bound).__name__}, not a Bound")
            if bound.delta != delta or not bound.confidence >= self.confidence:
                raise ValueError(
                    f"its bound is for delta {bound.delta:g} at {bound.confidence:g} confidence, "
                    f"not for {delta:g} at {self.confidence:g}"
                )
            if bound.assumption not in get_args(Assumption):
                raise ValueError(
                    f"its assumption is {bound.assumption!r}, of which nothing is known"
                )
            return bound
