"""What every estimator checks before it computes, in one sentence each."""

from __future__ import annotations

from typing import Any, TypeVar

from dpaudit import checks
from dpaudit.accounting.curves import family
from dpaudit.errors import BadInput
from dpaudit.protocols import Estimator
from dpaudit.types import Adjacency, Assumption, Counts, Decisions, Guesses, Outcome, Scores

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
