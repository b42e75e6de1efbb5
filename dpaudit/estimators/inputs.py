"""What every estimator checks before it computes, in one sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, get_args

import numpy as np

from dpaudit import checks
from dpaudit.accounting.curves import family
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.protocols import Criterion, Estimator
from dpaudit.results import Assumption, Bound, Counts, Decisions, Guesses, Outcome, Scores
from dpaudit.types import Adjacency, Array

Kind = TypeVar("Kind", Counts, Scores, Guesses, Decisions)

_WORDS: dict[type, tuple[str, str]] = {
    Counts: ("counts of decisions", "counts"),
    Scores: ("scores", "scores"),
    Guesses: ("guesses of one run", "guesses"),
    Decisions: ("decisions in pairs in the order of play", "decisions in pairs"),
}


class CurveEstimator(Estimator):
    """An estimator that assumes the kind of its `curve`."""

    curve: Any
    adjacency: Adjacency

    @property
    def assumption(self) -> Assumption:
        """What the kind of curve assumes, whatever the delta."""
        return family(self.curve, 0.0, self.adjacency).assumption

    @property
    def assumed_curve(self) -> tuple[Any, Adjacency]:
        return self.curve, self.adjacency


def sure(confidence: float) -> None:
    """Refuse a confidence that is none."""
    checks.refuse([checks.in_range("confidence", confidence, 0, 1, ends="()")])


def given(who: str, kind: type[Kind], outcome: Outcome, delta: float) -> Kind:
    """The outcome, if it is of the kind that the estimator takes and delta is a delta."""
    checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
    if not isinstance(outcome, kind):
        others = [short for other, (_, short) in _WORDS.items() if other is not kind]
        raise BadInput(
            f"{who} needs {_WORDS[kind][0]}, not {_either(others)}",
            "wrong-outcome",
            value=(type(outcome).__name__, kind.__name__),
        )
    return outcome


def _either(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def positive_delta(who: str, delta: float) -> None:
    """Refuse delta 0 where no epsilon is finite."""
    if delta == 0:
        raise BadInput(
            f"{who} needs a delta above 0: a Gaussian curve has no finite epsilon at delta 0",
            "needs-delta",
            option="delta",
            value=delta,
        )


# ----------------------------------------------------------------
# Ties between the worlds: a rule that needs no luck.
#
# A coin that breaks ties makes a test valid on average over coins. It says nothing about the coins
# one seed: if they happen to favour one world, they do so in every audit with that seed. So a
# test of tied trials rejects only where at least `SURE` of all tosses reject at `SURE` times the
# level a. A toss rejects with probability at most SURE a on average, so by Markov's inequality
# this happens with probability at most a. Constant scores are then never evidence.
#
# A score that is tied in some audits and not in others could, in the worst case that theory leaves
# open, err with probability (2 - SURE) a; the simulations in `make verify` show no such case.


SURE = 0.9
"""The share of tosses that must reject."""

TOSSES = 1000
"""Tosses, where their distribution is simulated."""


def level(a: float, tied: bool) -> float:
    """Return the level at which each toss is tested."""
    return SURE * a if tied else a


def reached(tosses: Array) -> int:
    """Return the largest number that at least `SURE` of the tosses reach."""
    return int(np.sort(tosses)[int(len(tosses) * (1 - SURE) + 1e-9)])


# ----------------------------------------------------------------
# Estimators held to what they were asked: whoever wrote one, its bound is judged by.


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
        with wrap_errors(f"the estimator {self.name}"):
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
