"""A rule that is fixed, with the trials that may judge it: what every strategy is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpaudit.errors import BadInput
from dpaudit.estimators.sentences import confident
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Criterion, Estimator, Rule
from dpaudit.rates import BoundCriterion
from dpaudit.types import IN, OUT, Bound, Counts, Decisions, Outcome, Scores

Maker: TypeAlias = Callable[[float], Estimator]
"""Makes an estimator at some confidence, which a strategy may have to raise."""


@dataclass(frozen=True)
class Fixed:
    """A rule, trials that had no part in fixing it, and in words how it was fixed."""

    rule: Rule
    trials: Trials
    selection: str

    def bound(self, estimator: Maker, delta: float, confidence: float) -> Bound:
        """What an estimator makes of the rule's errors, or of its scores, on these trials."""
        outcome = self._outcome(made := estimator(confidence))
        return replace(
            made.bound(outcome, delta),
            attack=self.trials.attack,
            rule="" if isinstance(outcome, Scores) else repr(self.rule),
            selection=self.selection,
            trials=(self.trials.of(OUT), self.trials.of(IN)),
        )

    def _outcome(self, estimator: Estimator) -> Outcome:
        takes = kind(estimator)
        outcomes: dict[type, Callable[[Rule], Outcome]] = {
            Counts: self.trials.count,
            Decisions: self.trials.decisions,
            Scores: self.trials.scores,
        }
        if takes not in outcomes:
            raise BadInput(
                f"{type(estimator).__name__} needs {takes.__name__.lower()}, and trials of two "
                "worlds give decisions or scores; choose another estimator",
                "unfit-estimator",
                option="estimator",
                value=type(estimator).__name__,
            )
        return outcomes[takes](self.rule)


def kind(estimator: Estimator) -> type:
    """Of the outcome that an estimator takes."""
    return estimator.takes


def criterion(estimator: Estimator, delta: float) -> Criterion:
    """By which rules are chosen for an estimator.

    Not at the confidence asked for: an attack has one rule, whatever the confidence, else one
    could ask for one confidence after the other until a rule fits the judging trials.
    """
    return estimator.criterion or BoundCriterion(delta)


def best(bounds: Sequence[Bound], confidence: float, selection: str) -> Bound:
    """The best of bounds that all hold at once with this confidence; so does the best of them.

    Its ceiling is the highest of theirs: that is how far the best could have gone.
    """
    _refuse_credible(bounds)
    top = max(bounds, key=lambda bound: bound.epsilon)
    ceiling = max(bound.ceiling for bound in bounds)
    told = top.sentence.replace(confident(top.confidence), confident(confidence))
    return replace(top, confidence=confidence, ceiling=ceiling, selection=selection, sentence=told)


def _refuse_credible(bounds: Sequence[Bound]) -> None:
    """Refuse to correct what states no error rate."""
    for bound in bounds:
        if bound.assumption == "prior":
            raise BadInput(
                f"{bound.estimator} is credible under a prior and states no error rate, so it "
                "cannot be corrected for a choice; use hold-out, or another estimator",
                "no-error-rate",
                option="estimator",
                value=bound.estimator,
            )
