"""Hold-out: one half of the trials chooses the rule, the other half judges it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Criterion, Estimator, Rule
from dpaudit.rates import BoundCriterion
from dpaudit.results import NOTHING_TO_CHOOSE, Bound, Counts, Decisions, Outcome, Scores
from dpaudit.types import IN, OUT

Maker: TypeAlias = Callable[[float], Estimator]
"""Makes an estimator of some confidence."""


@dataclass(frozen=True)
class FixedRule:
    """A rule, trials that had no part in fixing it, and in words how it was fixed."""

    rule: Rule
    trials: Trials
    selection: str

    def bound(self, estimator: Maker, delta: float, confidence: float) -> Bound:
        """Return the bound on the rule's errors, or on its scores, on these trials."""
        outcome = self._outcome(made := estimator(confidence))
        return replace(
            made.bound(outcome, delta),
            attack=self.trials.attack,
            rule="" if isinstance(outcome, Scores) else repr(self.rule),
            selection=self.selection,
            trials=(self.trials.of(OUT), self.trials.of(IN)),
        )

    def _outcome(self, estimator: Estimator) -> Outcome:
        takes, of = estimator.takes, self.trials
        outcomes: dict[type, Callable[[Rule], Outcome]]
        outcomes = {Counts: of.count, Decisions: of.decisions, Scores: of.scores}
        if takes not in outcomes:
            raise BadInput(
                f"{type(estimator).__name__} needs {takes.__name__.lower()}, and trials of two "
                "worlds give decisions or scores; choose another estimator",
                "unfit-estimator",
                option="estimator",
                value=type(estimator).__name__,
            )
        return outcomes[takes](self.rule)


def criterion(estimator: Estimator, delta: float) -> Criterion:
    """Return the criterion by which rules are chosen for an estimator.

    It does not depend on the requested confidence. Otherwise a user could try one confidence
    after the other until a rule fits the judging trials.
    """
    return estimator.criterion or BoundCriterion(delta)


@dataclass(frozen=True)
class HoldOut:
    """The rule is fixed on trials of even index and judged on the others, at full confidence.

    The judging trials are independent of the rule, so that given the rule they are trials of a
    rule that was fixed beforehand, and need no correction. The half of a trial is fixed before
    anything is seen. If there is nothing to choose, all trials judge: a rule that was fixed
    beforehand, or its score for an estimator that needs no threshold. This does not hold with
    `always`, which says that the attack itself was chosen on the choosing half.
    """

    always: bool = False

    def bound(
        self, attack: Attack, trials: Trials, estimator: Maker, delta: float, confidence: float
    ) -> Bound:
        """Return the bound of the rule on the judging half; nothing here is random."""
        made = estimator(confidence)
        fixed = self.fix(attack, trials, criterion(made, delta), made.takes)
        return fixed.bound(estimator, delta, confidence)

    def fix(
        self, attack: Attack, trials: Trials, criterion: Criterion, takes: type = Counts
    ) -> FixedRule:
        """Return the rule, and the trials that may judge it by estimators of this outcome."""
        choosing, judging = trials.halves()
        rule = choosing.fit(attack, criterion)
        if self.always or chooses(attack, takes):
            searched = f" ({rule.how})" if rule.how and takes is not Scores else ""
            return FixedRule(rule, judging, f"hold-out{searched}")
        _refuse_choosing(attack, rule, trials, criterion)
        return FixedRule(rule, trials, NOTHING_TO_CHOOSE)


def chooses(attack: Attack, takes: type) -> bool:
    """Return whether an attack chooses anything that an estimator of such outcomes looks at."""
    return attack.fitted and not (takes is Scores and attack.scoring == "fixed")


def _refuse_choosing(attack: Attack, rule: Rule, trials: Trials, criterion: Criterion) -> None:
    """Reject an attack whose scores, or rule, are not as fixed as it says."""
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
