"""Hold-out: one half of the trials chooses the rule, the other half judges it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators.selections.fixed import Fixed, Maker, criterion, kind
from dpaudit.estimators.sentences import NOTHING_TO_CHOOSE
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Criterion, Rule
from dpaudit.types import IN, OUT, Bound, Counts, Scores


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
