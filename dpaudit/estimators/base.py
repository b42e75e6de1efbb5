"""Base classes of the estimators: checks of their input, the bound they return, and ties.

Ties between the worlds need a rule that needs no luck. A coin that breaks ties makes a test valid
on average over coins, but not for the coins of one seed: if they favour one world, they do so in
every audit with that seed. So a test of tied trials rejects only where at least `SURE` of all
tosses reject at `SURE` times the level a. A toss rejects with probability at most SURE a on
average, so by Markov's inequality this happens with probability at most a. Constant scores are
then never evidence.

A score that is tied in some audits and not in others could, in the worst case that theory leaves
open, err with probability (2 - SURE) a; the simulations in `make verify` show no such case.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, get_args

import numpy as np

from dpaudit import checks
from dpaudit.accounting.curves import Family, family
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.estimators.sentences import (
    ASSUMED,
    COINS,
    RULE,
    confident,
    credible,
    of_curve,
    sentence,
)
from dpaudit.protocols import Criterion, Estimator
from dpaudit.results import Assumption, Bound, Counts, Decisions, Guesses, Outcome, Scores
from dpaudit.types import Adjacency, Array

Kind = TypeVar("Kind", Counts, Scores, Guesses, Decisions)

_WORDS: dict[type, tuple[str, str]] = {
    Counts: ("counts of decisions", "counts"),
    Scores: ("a score for each trial", "scores"),
    Guesses: ("guesses of one run", "guesses"),
    Decisions: ("decisions in pairs in the order of play", "decisions in pairs"),
}

SURE = 0.9
"""The share of tosses that must reject."""

TOSSES = 1000
"""Tosses, where their distribution is simulated."""


def level(a: float, tied: bool) -> float:
    """Return the level at which each toss is tested."""
    return SURE * a if tied else a


def lower_quantile(tosses: Array) -> int:
    """Return the largest number that at least `SURE` of the tosses reach."""
    return int(np.sort(tosses)[int(len(tosses) * (1 - SURE) + 1e-9)])


def refuse_delta(delta: float) -> None:
    """Reject a delta outside [0, 1)."""
    checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])


def refuse_other_outcome(who: str, kind: type[Kind], outcome: Outcome) -> Kind:
    """Return the outcome if it is of the kind that the estimator takes."""
    if not isinstance(outcome, kind):
        *others, last = (short for other, (_, short) in _WORDS.items() if other is not kind)
        raise BadInput(
            f"{who} needs {_WORDS[kind][0]}, not {', '.join(others)} or {last}",
            "wrong-outcome",
            value=(type(outcome).__name__, kind.__name__),
        )
    return outcome


class BaseEstimator(Estimator):
    """An estimator of this package: its name, its confidence, and how it writes its bound."""

    name: ClassVar[str]
    rests_on: ClassVar[str]
    """The assumption of its bounds about the trials."""
    confidence: float

    def __post_init__(self) -> None:
        checks.refuse([checks.in_range("confidence", self.confidence, 0, 1, ends="()")])

    @property
    def _a(self) -> float:
        """The error probability."""
        return 1 - self.confidence

    def _assumed(self, delta: float) -> str:
        """Return what its bounds assume of the mechanism, in words."""
        return ASSUMED[self.assumption]

    def _bound(self, epsilon: float, ceiling: float, delta: float, **more: Any) -> Bound:
        """Return the bound, which never exceeds the ceiling."""
        shown = min(ceiling, epsilon)
        surely = credible if self.assumption == "prior" else confident
        assuming = f"{self._assumed(delta)} {self.rests_on}"
        values = {
            "epsilon": shown,
            "delta": delta,
            "confidence": self.confidence,
            "estimator": self.name,
            "assumption": self.assumption,
            "selection": "as given",
            "ceiling": ceiling,
            "sentence": sentence(surely(self.confidence), shown, delta, assuming),
        }
        return Bound(**{**values, **more})


class CountsEstimator(BaseEstimator):
    """An estimator of error counts; its ceiling is its bound on counts without an error."""

    takes = Counts
    rests_on = RULE

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        c = self._checked(outcome, delta)
        found, ceiling = self._epsilon(c, delta), self.ceiling(c.out, c.inn, delta)
        return self._bound(found, ceiling, delta, counts=c, interval=self._interval(c, delta))

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """Return the largest bound that this number of trials could give."""
        return self._epsilon(self._checked(Counts(0, out, 0, inn), delta), delta)

    def _checked(self, outcome: Outcome, delta: float) -> Counts:
        refuse_delta(delta)
        return refuse_other_outcome(self.name, Counts, outcome)

    @abstractmethod
    def _epsilon(self, c: Counts, delta: float) -> float: ...

    def _interval(self, c: Counts, delta: float) -> tuple[float, float] | None:
        """Return a two-sided interval, if the method has one."""
        return None


class GuessesEstimator(BaseEstimator):
    """An estimator of guesses of one run; its ceiling is its bound if all of them are right."""

    takes = Guesses
    rests_on = COINS

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        refuse_delta(delta)
        g = refuse_other_outcome(self.name, Guesses, outcome)
        ceiling = self.ceiling(g.canaries, g.guesses, delta)
        return self._bound(self._epsilon(g, delta), ceiling, delta, guesses=g)

    def ceiling(self, canaries: int, guesses: int, delta: float) -> float:
        """Return the largest bound that this number of guesses could give."""
        refuse_delta(delta)
        return self._epsilon(Guesses(canaries, guesses, correct=guesses), delta)

    @abstractmethod
    def _epsilon(self, g: Guesses, delta: float) -> float: ...


class CurveEstimator(BaseEstimator):
    """An estimator that assumes the kind of its `curve`.

    `curve` is 'gaussian', 'pure' (assumes nothing) or a claim's curve, of which only the kind is
    taken: of DP-SGD the sampling rate and the steps, which are then trusted.
    """

    curve: Any
    adjacency: Adjacency

    def __post_init__(self) -> None:
        super().__post_init__()
        family(self.curve, 0.0, self.adjacency)  # rejects an unknown curve

    @property
    def assumption(self) -> Assumption:
        """The assumption of the kind of curve, whatever the delta."""
        return family(self.curve, 0.0, self.adjacency).assumption

    @property
    def assumed_curve(self) -> tuple[Any, Adjacency]:
        return self.curve, self.adjacency

    def _family(self, delta: float) -> Family:
        refuse_delta(delta)
        return family(self.curve, delta, self.adjacency)

    def _assumed(self, delta: float) -> str:
        return of_curve(self._family(delta))


@dataclass(frozen=True)
class CheckedEstimator(Estimator):
    """Any plug-in's estimator; rejects a bound for another delta or with less confidence."""

    name: str
    estimator: Estimator
    confidence: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes", self.estimator.takes)

    @property
    def criterion(self) -> Criterion | None:
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
                raise ValueError(f"its assumption {bound.assumption!r} is unknown")
            return bound
