"""Bonferroni: a few rules that were fixed beforehand, all judged on all trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit.errors import BadInput
from dpaudit.percentages import percent
from dpaudit.protocols import Attack, Rule
from dpaudit.selections.fixed import Fixed, Maker, best
from dpaudit.trials import Trials
from dpaudit.types import Bound


@dataclass(frozen=True)
class Bonferroni:
    """Each of m rules is judged on all trials at a/m, and the best is taken.

    That any of the m bounds fails has probability m a/m = a at most, however much they depend
    on one another, and the best fails only if one of them does. The rules must have been
    written down before the trials were seen, all of them: a rule that was tried and left out
    counts. Bonferroni 1936; Dunn 1961.
    """

    rules: Sequence[Rule]

    def __post_init__(self) -> None:
        if not self.rules:
            raise BadInput(
                "Bonferroni needs at least one rule that was fixed beforehand",
                "none-given",
                option="rules",
            )

    def bound(
        self,
        attack: Attack,
        trials: Trials,
        estimator: Maker,
        delta: float,
        confidence: float,
        seed: int = 0,
    ) -> Bound:
        """The best of the m bounds; of the attack only what it looks at is used."""
        m = len(self.rules)
        each = 1 - (1 - confidence) / m
        bounds = [Fixed(rule, trials, "").bound(estimator, delta, each) for rule in self.rules]
        words = f"Bonferroni (the best of {m} fixed beforehand, each at {percent(each)})"
        return best(bounds, confidence, words if m > 1 else "fixed beforehand")
