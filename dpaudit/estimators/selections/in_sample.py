"""In-sample: the rule is judged on the trials that it was chosen on. A description, no bound."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.estimators.published import estimate
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack
from dpaudit.rates import PointCriterion
from dpaudit.types import Counts


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
