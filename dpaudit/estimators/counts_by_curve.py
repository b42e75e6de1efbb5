"""GDP: error rates to the mu of a Gaussian trade-off curve, and that to epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from dpaudit import checks
from dpaudit.accounting.curves import Family, Gaussian, family, last_refuted, margin
from dpaudit.estimators import inputs
from dpaudit.estimators.inputs import CurveEstimator
from dpaudit.estimators.sentences import ASSUMED, RULE, confident, of_curve, sentence
from dpaudit.protocols import Criterion, Estimator
from dpaudit.rates import GaussianCriterion, lower_rate, upper_rate
from dpaudit.results import Assumption, Bound, Counts, Outcome
from dpaudit.types import Adjacency, Array, Curve


@dataclass(frozen=True)
class GDP(Estimator):
    """The bound for mechanisms that are Gaussian; assumes a Gaussian trade-off curve.

    mu_L = Phi^-1(1-U0) - Phi^-1(U1), where U0 and U1 are Clopper-Pearson's upper bounds on the
    false-positive and the false-negative rate at a/2 each; epsilon is that of mu_L-GDP at d,
    and 0 where mu_L is not positive: its sign is kept, since an absolute value would report a
    leak in every audit without one. A rule that errs seldom shows far more than without the
    assumption; but on a mechanism that is not Gaussian the bound is none (randomized response
    of epsilon 1 reads 5.58). Delta must be above 0. The two-sided interval takes the rates' upper
    and lower bounds at a/4. Dong, Roth and Su 2022; Nasr et al. 2023, "Tight auditing of
    differentially private machine learning".
    """

    confidence: float = 0.95

    assumption: ClassVar[Assumption] = "gaussian"
    criterion: ClassVar[Criterion] = GaussianCriterion()

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        c = self._given(outcome, delta)
        epsilon = _epsilon(self.mu(c), delta)
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="gdp",
            assumption=self.assumption,
            selection="as given",
            ceiling=self.ceiling(c.out, c.inn, delta),
            counts=c,
            interval=self._interval(c, delta),
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"{ASSUMED[self.assumption]} {RULE}",
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of no error at all."""
        return _epsilon(self.mu(self._given(Counts(0, out, 0, inn), delta)), delta)

    def mu(self, c: Counts) -> float:
        """mu_L, signed; minus infinity where a rule was never right in one world."""
        a = (1 - self.confidence) / 2
        return _mu(float(upper_rate(c.fp, c.out, a)), float(upper_rate(c.fn, c.inn, a)))

    def best_of(self, u0: Array, u1: Array, delta: float) -> float:
        """The most that any of many rules shows, by upper bounds on their rates."""
        inputs.positive_delta("GDP", delta)
        mu = -ndtri(u0) - ndtri(u1)
        place = int(np.where(np.isnan(mu), -np.inf, mu).argmax())
        return _epsilon(_mu(float(u0[place]), float(u1[place])), delta)

    def _interval(self, c: Counts, delta: float) -> tuple[float, float]:
        a = (1 - self.confidence) / 4
        low = _mu(float(upper_rate(c.fp, c.out, a)), float(upper_rate(c.fn, c.inn, a)))
        high = _mu(float(lower_rate(c.fp, c.out, a)), float(lower_rate(c.fn, c.inn, a)))
        return _epsilon(low, delta), _epsilon(high, delta)

    def _given(self, outcome: Outcome, delta: float) -> Counts:
        c = inputs.given("GDP", Counts, outcome, delta)
        inputs.positive_delta("GDP", delta)
        return c


def _mu(fpr: float, fnr: float) -> float:
    # Phi^-1(1-x) is -Phi^-1(x), which loses nothing where x is small. Of a rate 0 and a rate 1
    # either could be the limit; nothing is shown by them.
    mu = -float(ndtri(fpr)) - float(ndtri(fnr))
    return -math.inf if math.isnan(mu) else mu


def _epsilon(mu: float, delta: float) -> float:
    return math.inf if mu == math.inf else Gaussian().epsilon(mu, delta)


# ----------------------------------------------------------------
# PLD: the bound on counts that trusts an accountant's sampling rate and steps.


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
