"""Reversed K-fold: little is given to the choice, most to the judgement, K times."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit import checks
from dpaudit.percentages import percent
from dpaudit.protocols import Attack
from dpaudit.selections.fixed import Fixed, Maker, best, criterion, kind
from dpaudit.selections.hold_out import HoldOut, chooses
from dpaudit.trials import Trials
from dpaudit.types import Bound


@dataclass(frozen=True)
class ReversedKFold:
    """Of K folds each chooses a rule, which the K - 1 others judge at a/K; the best is taken.

    Each bound fails with probability a/K at most, because no trial judges a rule that it had a
    part in; that any of the K fails has probability a at most, however much they depend on one
    another, and the best fails only if one of them does. Against hold-out it judges on
    (K - 1)/K of the trials instead of one half, and pays with a/K and with a rule that was
    chosen on fewer. Fold f has the trials whose index is f modulo K.
    """

    folds: int = 5

    def __post_init__(self) -> None:
        checks.refuse([checks.at_least("folds", self.folds, 2)])

    def bound(
        self,
        attack: Attack,
        trials: Trials,
        estimator: Maker,
        delta: float,
        confidence: float,
        seed: int = 0,
    ) -> Bound:
        """The best of the K bounds; nothing here is random."""
        each = 1 - (1 - confidence) / self.folds
        made = estimator(each)
        if not chooses(attack, kind(made)):
            return HoldOut().bound(attack, trials, estimator, delta, confidence)
        checks.refuse([checks.at_least("trials a world", trials.per_world, self.folds)])
        bounds = []
        for fold in range(self.folds):
            here = trials.indices % self.folds == fold
            rule = trials[here].fit(attack, criterion(made, delta))
            bounds.append(Fixed(rule, trials[~here], "").bound(estimator, delta, each))
        return best(bounds, confidence, self._selection(each))

    def _selection(self, each: float) -> str:
        return (
            f"reversed {self.folds}-fold (chosen on 1 of {self.folds} folds, judged on the "
            f"others at {percent(each)}; the best of {self.folds})"
        )
