"""Clopper-Pearson: the bound that assumes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.rates import log_ratio, upper_rate
from dpaudit.types import Bound, Counts, Outcome


@dataclass(frozen=True)
class ClopperPearson:
    """Exact binomial confidence bounds on both error rates; assumes nothing.

    U0 and U1 are upper bounds on the false-positive and the false-negative rate, each at half
    of the error probability; epsilon is at least ln((1-d-U0)/U1) and ln((1-d-U1)/U0). Valid
    for a decision rule that was fixed without the trials that are counted. Clopper and
    Pearson 1934; first used so by Jagielski, Ullman and Oprea 2020.
    """

    confidence: float = 0.95

    def __post_init__(self) -> None:
        checks.refuse([checks.in_range("confidence", self.confidence, 0, 1, ends="()")])

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        if not isinstance(outcome, Counts):
            raise BadInput("Clopper-Pearson needs counts of decisions, not scores or guesses")
        return Bound(
            epsilon=self._epsilon(outcome, delta),
            delta=delta,
            confidence=self.confidence,
            estimator="clopper-pearson",
            assumption="none",
            selection="as given",
            ceiling=self.ceiling(outcome.out, outcome.inn, delta),
            counts=outcome,
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of no error at all."""
        return self._epsilon(Counts(fp=0, out=out, fn=0, inn=inn), delta)

    def _epsilon(self, c: Counts, delta: float) -> float:
        a = (1 - self.confidence) / 2
        value = log_ratio(upper_rate(c.fp, c.out, a), upper_rate(c.fn, c.inn, a), delta)
        return max(0.0, float(value))
