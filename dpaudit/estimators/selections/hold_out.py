"""A rule that is fixed, with the trials that may judge it: what every strategy is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators.published import estimate
from dpaudit.estimators.sentences import NOTHING_TO_CHOOSE, confident
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Criterion, Estimator, Rule
from dpaudit.rates import BoundCriterion, PointCriterion
from dpaudit.results import Bound, Counts, Decisions, Outcome, Scores
from dpaudit.types import IN, OUT

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


# ----------------------------------------------------------------
# Hold-out: one half of the trials chooses the rule, the other half judges it.


@dataclass(frozen=True)
class HoldOut:
    """The rule is fixed on trials of even index and judged on the others, at full confidence.

    The judging trials are independent of the rule, so that given the rule they are trials of a
    rule that was fixed beforehand; nothing is to be paid. Which half a trial is in is settled
    before anything is seen. What leaves nothing to choose is judged on all trials: a rule that
    was fixed beforehand, or the score of one by an estimator that needs no threshold. Unless
    `always` says that the attack itself was picked on the choosing half.
    """

    always: bool = False

    def bound(
        self,
        attack: Attack,
        trials: Trials,
        estimator: Maker,
        delta: float,
        confidence: float,
    ) -> Bound:
        """The bound of the rule on the judging half; nothing here is random."""
        made = estimator(confidence)
        fixed = self.fix(attack, trials, criterion(made, delta), kind(made))
        return fixed.bound(estimator, delta, confidence)

    def fix(
        self, attack: Attack, trials: Trials, criterion: Criterion, takes: type = Counts
    ) -> Fixed:
        """The rule, and the trials that may judge it by estimators that take this outcome."""
        choosing, judging = trials.halves()
        rule = choosing.fit(attack, criterion)
        if self.always or chooses(attack, takes):
            return Fixed(rule, judging, f"hold-out{searched(rule) if takes is not Scores else ''}")
        _refuse_choosing(attack, rule, trials, criterion)
        return Fixed(rule, trials, NOTHING_TO_CHOOSE)


def chooses(attack: Attack, takes: type) -> bool:
    """Whether an attack chooses anything that an estimator of such outcomes looks at."""
    return attack.fitted and not (takes is Scores and attack.scoring == "fixed")


def _refuse_choosing(attack: Attack, rule: Rule, trials: Trials, criterion: Criterion) -> None:
    """Refuse an attack whose scores, or rule, are not as fixed as it says."""
    choosing, _ = trials.halves()
    turned = replace(choosing, worlds=np.where(choosing.worlds == OUT, IN, OUT))
    other = turned.fit(attack, criterion)
    looked_at = [trials.scores] if attack.fitted else [trials.scores, trials.decisions]
    pairs = ((vars(look(rule)), vars(look(other))) for look in looked_at)
    if not all(np.array_equal(a[w], b[w], equal_nan=True) for a, b in pairs for w in a):
        raise BadInput(
            f"the attack {trials.attack} says that it chooses nothing, and scores trials otherwise "
            "if their worlds are swapped; only one that does not may be judged on all of them",
            "attack-chooses",
            option="attack",
            value=trials.attack,
        )


def searched(rule: Rule) -> str:
    """How the rule was searched, in brackets, where it says so."""
    return f" ({rule.how})" if rule.how else ""


# ----------------------------------------------------------------
# In-sample: the rule is judged on the trials that it was chosen on. A description, no bound.


@dataclass(frozen=True)
class Description:
    """How well a rule does on the very trials that it was chosen on: not a bound.

    It has no confidence and no ceiling, because it bounds nothing: where nothing leaks at all
    it is far above 0.
    """

    attack: str
    rule: str
    counts: Counts
    epsilon_in_sample: float
    delta: float

    def __str__(self) -> str:
        return (
            f"{self.attack}: in-sample estimate {self.epsilon_in_sample:.3f} at delta "
            f"{self.delta:g} (a description, not a bound)"
        )


@dataclass(frozen=True)
class InSample:
    """Fits and counts on the same trials, as published audits often do; to compare with only.

    It has no `bound`, and what it gives back is none.
    """

    def describe(self, attack: Attack, trials: Trials, delta: float) -> Description:
        """The point estimate of the rule that makes it largest on these same trials."""
        rule = trials.fit(attack, PointCriterion(delta))
        counts = trials.count(rule)
        return Description(trials.attack, repr(rule), counts, estimate(counts, delta), delta)
