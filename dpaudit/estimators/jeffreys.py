"""Jeffreys: Clopper-Pearson's formula with the quantiles of a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scipy.special import betaincinv

from dpaudit.estimators import inputs
from dpaudit.estimators.sentences import RULE, credible, sentence
from dpaudit.protocols import Estimator
from dpaudit.rates import epsilon_interval, log_ratio
from dpaudit.types import Assumption, Bound, Counts, Outcome


@dataclass(frozen=True)
class Jeffreys(Estimator):
    """Posterior quantiles of both error rates; assumes a prior: credible, not certified.

    With Jeffreys' prior a rate is Beta(k + 1/2, n - k + 1/2) after k errors in n trials.
    J0 and J1 are the 1 - a/2 quantiles of the false-positive and the false-negative rate;
    epsilon is at least ln((1-d-J0)/J1) and ln((1-d-J1)/J0). A little larger than
    Clopper-Pearson's, and above the truth a little more often than stated. The two-sided
    interval takes the quantiles a/4 and 1 - a/4 of each rate. Jeffreys 1946; used so by
    Zanella-Béguelin et al. 2023, "Bayesian estimation of differential privacy".
    """

    confidence: float = 0.95

    assumption: ClassVar[Assumption] = "prior"

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        c = inputs.given("Jeffreys", Counts, outcome, delta)
        a = 1 - self.confidence
        epsilon = self._epsilon(c, delta)
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="jeffreys",
            assumption=self.assumption,
            selection="as given",
            ceiling=self.ceiling(c.out, c.inn, delta),
            counts=c,
            interval=epsilon_interval(_rates(c, a / 4), _rates(c, 1 - a / 4), delta),
            sentence=sentence(
                credible(self.confidence),
                epsilon,
                delta,
                f"Jeffreys' prior on both error rates, {RULE}",
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of no error at all."""
        flawless = Counts(fp=0, out=out, fn=0, inn=inn)
        return self._epsilon(inputs.given("Jeffreys", Counts, flawless, delta), delta)

    def _epsilon(self, c: Counts, delta: float) -> float:
        a = 1 - self.confidence
        return max(0.0, float(log_ratio(*_rates(c, 1 - a / 2), delta)))


def _rates(c: Counts, quantile: float) -> tuple[float, float]:
    """One quantile of the posterior of (FPR, FNR)."""
    fpr = betaincinv(c.fp + 0.5, c.out - c.fp + 0.5, quantile)
    fnr = betaincinv(c.fn + 0.5, c.inn - c.fn + 0.5, quantile)
    return float(fpr), float(fnr)
