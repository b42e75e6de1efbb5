"""PLD: the bound on counts that trusts an accountant's sampling rate and steps."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit import checks
from dpaudit.accounting.curves import Family, family, last_refuted, margin
from dpaudit.estimators import inputs
from dpaudit.estimators.inputs import CurveEstimator
from dpaudit.estimators.sentences import RULE, confident, of_curve, sentence
from dpaudit.protocols import Criterion
from dpaudit.rates import GaussianCriterion, upper_rate
from dpaudit.types import Adjacency, Bound, Counts, Curve, Outcome


@dataclass(frozen=True)
class PLD(CurveEstimator):
    """The effective noise multiplier of DP-SGD is at most s*, so epsilon at least that of s*.

    The trade-off curve f_s of q, T and a noise multiplier s is refuted if f_s(U0) > U1, where
    U0 and U1 are upper bounds on the false-positive and the false-negative rate, each at half
    of the error probability; s* = sup{s : f_s(U0) <= U1}, and the bound is its epsilon, rounded
    down. It trusts the sampling rate q and the steps T of the claim, so it cannot catch a fault
    in the sampling. Under replacement the accountant's own relation is used, which contains
    that a sum moves by twice the clip. Privacy loss distributions: Koskela, Jälkö and Honkela
    2020, Doroshenko et al. 2022; audits by curve: Nasr et al. 2023.
    """

    curve: Curve | Family
    confidence: float = 0.95
    adjacency: Adjacency = "add-remove"

    def __post_init__(self) -> None:
        checks.refuse([checks.in_range("confidence", self.confidence, 0, 1, ends="()")])
        family(self.curve, 0.0, self.adjacency)  # refused here, if at all

    @property
    def criterion(self) -> Criterion | None:
        """That of a Gaussian curve, which DP-SGD's are close to."""
        return None if self.assumption == "none" else GaussianCriterion()

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        c = inputs.given("PLD", Counts, outcome, delta)
        ceiling = self.ceiling(c.out, c.inn, delta)
        epsilon = min(ceiling, self._epsilon(c, delta))
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="pld",
            assumption=self.assumption,
            selection="as given",
            ceiling=ceiling,
            counts=c,
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"{of_curve(self._family(delta))} {RULE}",
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of no error at all."""
        return self._epsilon(Counts(fp=0, out=out, fn=0, inn=inn), delta)

    def parameter(self, counts: Counts, delta: float) -> float:
        """s*, the largest noise multiplier that is not refuted (for a Gaussian curve mu)."""
        a = (1 - self.confidence) / 2
        curves = self._family(delta)
        u0 = float(upper_rate(counts.fp, counts.out, a))
        u1 = float(upper_rate(counts.fn, counts.inn, a))
        return curves.parameter(last_refuted(curves, lambda p: margin(curves, p, u0, u1)))

    def _family(self, delta: float) -> Family:
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        return family(self.curve, delta, self.adjacency)

    def _epsilon(self, counts: Counts, delta: float) -> float:
        return self._family(delta).epsilon(self.parameter(counts, delta), delta)
