"""Clopper-Pearson: the bound that assumes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.estimators import inputs
from dpaudit.estimators.sentences import ASSUMED, RULE, confident, sentence
from dpaudit.protocols import Estimator
from dpaudit.rates import epsilon_interval, log_ratio, lower_rate, upper_rate
from dpaudit.types import Bound, Counts, Outcome


@dataclass(frozen=True)
class ClopperPearson(Estimator):
    """Exact binomial confidence bounds on both error rates; assumes nothing.

    U0 and U1 are upper bounds on the false-positive and the false-negative rate, each at half
    of the error probability a; epsilon is at least ln((1-d-U0)/U1) and ln((1-d-U1)/U0). Valid
    for a decision rule that was fixed without the trials that are counted. Clopper and
    Pearson 1934; first used so by Jagielski, Ullman and Oprea 2020.

    The two-sided interval gives a quarter of a to each end of each rate: its lower end is the
    same formula with upper bounds at a/4, its upper end the formula with lower bounds at a/4
    (as privacy-estimates does). The upper end is about this rule, not about the mechanism.
    """

    confidence: float = 0.95

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        c = inputs.given("Clopper-Pearson", Counts, outcome, delta)
        epsilon = self._epsilon(c, delta)
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="clopper-pearson",
            assumption="none",
            selection="as given",
            ceiling=self.ceiling(c.out, c.inn, delta),
            counts=c,
            interval=self._interval(c, delta),
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"{ASSUMED['none']} {RULE}",
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of no error at all."""
        flawless = Counts(fp=0, out=out, fn=0, inn=inn)
        return self._epsilon(inputs.given("Clopper-Pearson", Counts, flawless, delta), delta)

    def _epsilon(self, c: Counts, delta: float) -> float:
        a = (1 - self.confidence) / 2
        value = log_ratio(upper_rate(c.fp, c.out, a), upper_rate(c.fn, c.inn, a), delta)
        return max(0.0, float(value))

    def _interval(self, c: Counts, delta: float) -> tuple[float, float]:
        a = (1 - self.confidence) / 4
        lower = float(lower_rate(c.fp, c.out, a)), float(lower_rate(c.fn, c.inn, a))
        upper = float(upper_rate(c.fp, c.out, a)), float(upper_rate(c.fn, c.inn, a))
        return epsilon_interval(lower, upper, delta)
