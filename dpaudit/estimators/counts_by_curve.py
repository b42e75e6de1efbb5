"""Bounds on counts of decisions that assume a trade-off curve: Gaussian, or an accountant's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from dpaudit.accounting.curves import Family, Gaussian, last_refuted, margin, refuse_zero
from dpaudit.estimators.base import CountsEstimator, CurveEstimator
from dpaudit.estimators.counts import lower_rates_of, upper_rates_of
from dpaudit.protocols import Criterion
from dpaudit.rates import GaussianCriterion
from dpaudit.types import Adjacency, Array, Assumption, Counts, Curve, Outcome


@dataclass(frozen=True)
class GDP(CountsEstimator):
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

    name = "gdp"
    assumption: ClassVar[Assumption] = "gaussian"
    criterion: ClassVar[Criterion] = GaussianCriterion()

    def mu(self, c: Counts) -> float:
        """Return mu_L, signed; minus infinity if a rule was never right in one world."""
        return _mu(*upper_rates_of(c, self._a / 2))

    def best_of(self, u0: Array, u1: Array, delta: float) -> float:
        """Return the most that any of many rules shows, by upper bounds on their rates."""
        refuse_zero(delta)
        mu = -ndtri(u0) - ndtri(u1)
        place = int(np.where(np.isnan(mu), -np.inf, mu).argmax())
        return _epsilon(_mu(float(u0[place]), float(u1[place])), delta)

    def _checked(self, outcome: Outcome, delta: float) -> Counts:
        c = super()._checked(outcome, delta)
        refuse_zero(delta)
        return c

    def _epsilon(self, c: Counts, delta: float) -> float:
        return _epsilon(self.mu(c), delta)

    def _interval(self, c: Counts, delta: float) -> tuple[float, float]:
        a = self._a / 4
        low, high = _mu(*upper_rates_of(c, a)), _mu(*lower_rates_of(c, a))
        return _epsilon(low, delta), _epsilon(high, delta)


def _mu(fpr: float, fnr: float) -> float:
    # Phi^-1(1-x) is -Phi^-1(x), which loses nothing where x is small. Of a rate 0 and a rate 1
    # either could be the limit; nothing is shown by them.
    mu = -float(ndtri(fpr)) - float(ndtri(fnr))
    return -math.inf if math.isnan(mu) else mu


def _epsilon(mu: float, delta: float) -> float:
    return math.inf if mu == math.inf else Gaussian().epsilon(mu, delta)


@dataclass(frozen=True)
class PLD(CurveEstimator, CountsEstimator):
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

    name = "pld"

    @property
    def criterion(self) -> Criterion | None:
        """The criterion of a Gaussian curve, which DP-SGD's curves are close to."""
        return None if self.assumption == "none" else GaussianCriterion()

    def parameter(self, counts: Counts, delta: float) -> float:
        """Return s*, the largest noise multiplier that is not refuted (mu of a Gaussian curve)."""
        curves = self._family(delta)
        u0, u1 = upper_rates_of(counts, self._a / 2)
        return curves.parameter(last_refuted(curves, lambda p: margin(curves, p, u0, u1)))

    def _epsilon(self, c: Counts, delta: float) -> float:
        return self._family(delta).epsilon(self.parameter(c, delta), delta)
