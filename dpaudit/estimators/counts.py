"""Bounds on counts of decisions: without assumption, under a prior, and under a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, expit, ndtri

from dpaudit.accounting.curves import Family, GaussianFamily, refuse_zero
from dpaudit.accounting.search import last_refuted, margin
from dpaudit.estimators.base import CountsEstimator, CurveEstimator
from dpaudit.protocols import Criterion
from dpaudit.rates import GaussianCriterion, epsilon_interval, log_ratio, lower_rate, upper_rate
from dpaudit.results import Assumption, Counts, Outcome
from dpaudit.types import Adjacency, Array, Curve


@dataclass(frozen=True)
class ClopperPearson(CountsEstimator):
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

    name = "clopper-pearson"

    def _epsilon(self, c: Counts, delta: float) -> float:
        return max(0.0, float(log_ratio(*upper_rates_of(c, self._a / 2), delta)))

    def _interval(self, c: Counts, delta: float) -> tuple[float, float]:
        a = self._a / 4
        return epsilon_interval(lower_rates_of(c, a), upper_rates_of(c, a), delta)


def upper_rates_of(c: Counts, a: float) -> tuple[float, float]:
    """Return U of both rates, (FPR, FNR), each at level a."""
    return float(upper_rate(c.fp, c.out, a)), float(upper_rate(c.fn, c.inn, a))


def lower_rates_of(c: Counts, a: float) -> tuple[float, float]:
    """Return L of both rates, (FPR, FNR), each at level a."""
    return float(lower_rate(c.fp, c.out, a)), float(lower_rate(c.fn, c.inn, a))


class PosteriorEstimator(CountsEstimator):
    """An estimator with Jeffreys' prior on both error rates: credible, not certified."""

    assumption: ClassVar[Assumption] = "prior"

    def _assumed(self, delta: float) -> str:
        return "Jeffreys' prior on both error rates,"


@dataclass(frozen=True)
class Jeffreys(PosteriorEstimator):
    """Posterior quantiles of both error rates; assumes a prior: credible, not certified.

    With Jeffreys' prior a rate is Beta(k + 1/2, n - k + 1/2) after k errors in n trials.
    J0 and J1 are the 1 - a/2 quantiles of the false-positive and the false-negative rate;
    epsilon is at least ln((1-d-J0)/J1) and ln((1-d-J1)/J0). A little larger than
    Clopper-Pearson's, and above the truth a little more often than stated. The two-sided
    interval takes the quantiles a/4 and 1 - a/4 of each rate. Jeffreys 1946; used so by
    Zanella-Béguelin et al. 2023, "Bayesian estimation of differential privacy".
    """

    confidence: float = 0.95

    name = "jeffreys"

    def _epsilon(self, c: Counts, delta: float) -> float:
        return max(0.0, float(log_ratio(*_quantiles(c, 1 - self._a / 2), delta)))

    def _interval(self, c: Counts, delta: float) -> tuple[float, float]:
        a = self._a / 4
        return epsilon_interval(_quantiles(c, a), _quantiles(c, 1 - a), delta)


def _quantiles(c: Counts, share: float) -> tuple[float, float]:
    """Return one quantile of the posterior of (FPR, FNR)."""
    fpr = betaincinv(c.fp + 0.5, c.out - c.fp + 0.5, share)
    fnr = betaincinv(c.fn + 0.5, c.inn - c.fn + 0.5, share)
    return float(fpr), float(fnr)


_STEPS = np.linspace(-1, 1, 801)
_LOG_ODDS = 8 * _STEPS + 32 * _STEPS**5
"""Log odds of the quantiles at which FNR is taken: dense in the middle, and into both tails."""

_DENSITY = expit(_LOG_ODDS) * expit(-_LOG_ODDS) * (8 + 160 * _STEPS**4)
_WEIGHTS = _DENSITY / _DENSITY.sum()

_HIGHEST = 700.0
"""An epsilon whose power of e is still a number."""


@dataclass(frozen=True)
class JointBeta(PosteriorEstimator):
    """The posterior of both error rates at once; assumes a prior: credible, not certified.

    With Jeffreys' prior x = FNR ~ Beta(1/2 + FN, 1/2 + TP) and y = FPR ~ Beta(1/2 + FP, 1/2 + TN),
    independently. Rates that (e, d)-DP allows lie in R(e): y >= max(0, 1-d-x e^e, (1-d-x) e^-e).
    The bound is the root of Mass(R(e)) = a, and 0 if Mass(R(0)) >= a. It exceeds the truth more
    often than stated: on randomized response of epsilon 3 with 50 + 50 trials in 22 % of audits
    at a nominal 5 %. Zanella-Béguelin et al. 2023, "Bayesian estimation of differential privacy".

    The paper's R(e) has upper edges too, for rules that are wrong more often than right. They
    are left out: between them lies nothing at e = 0 and d = 0, so every audit of a mechanism
    without a leak would report one. Elsewhere the bounds agree. The two-sided interval has a/2
    of the mass on each side.
    """

    confidence: float = 0.95

    name = "joint-beta"

    def _epsilon(self, c: Counts, delta: float) -> float:
        return _Posterior.of(c).quantile(self._a, delta)

    def _interval(self, c: Counts, delta: float) -> tuple[float, float]:
        posterior, a = _Posterior.of(c), self._a
        return posterior.quantile(a / 2, delta), posterior.quantile(1 - a / 2, delta)


@dataclass(frozen=True)
class _Posterior:
    """FNR as quantiles at fixed log-odds, and the two parameters of FPR's Beta."""

    x: Array
    wrong: float
    right: float

    @classmethod
    def of(cls, c: Counts) -> _Posterior:
        wrong, right = c.fn + 0.5, c.inn - c.fn + 0.5
        # From its own end, each half keeps quantiles that differ from 0 or 1 by less than 1e-16.
        low = betaincinv(wrong, right, expit(np.minimum(_LOG_ODDS, 0)))
        high = 1 - betaincinv(right, wrong, expit(-np.maximum(_LOG_ODDS, 0)))
        return cls(np.where(_LOG_ODDS < 0, low, high), c.fp + 0.5, c.out - c.fp + 0.5)

    def mass(self, e: float, delta: float) -> float:
        """Return the mass of R(e): the mean over x of the chance that y is not below R's edge."""
        x = self.x
        edge = np.maximum(1 - delta - x * math.exp(e), (1 - delta - x) * math.exp(-e))
        return float(_WEIGHTS @ betainc(self.right, self.wrong, 1 - np.maximum(edge, 0)))

    def quantile(self, share: float, delta: float) -> float:
        """Return the epsilon below which this share of the posterior lies."""
        if self.mass(0.0, delta) >= share:
            return 0.0
        high = 1.0
        while self.mass(high, delta) < share and high < _HIGHEST:
            high = min(2 * high, _HIGHEST)
        if self.mass(high, delta) < share:
            return high
        return float(brentq(lambda e: self.mass(e, delta) - share, 0.0, high, xtol=1e-10))


@dataclass(frozen=True)
class GDP(CountsEstimator):
    """The bound for Gaussian mechanisms; assumes a Gaussian trade-off curve.

    mu_L = Phi^-1(1-U0) - Phi^-1(U1), where U0 and U1 are Clopper-Pearson's upper bounds on the
    false-positive and the false-negative rate at a/2 each; epsilon is that of mu_L-GDP at d,
    and 0 where mu_L is not positive: its sign is kept, since an absolute value would report a
    leak in every audit without one. A rule that errs seldom shows far more than without the
    assumption; but on a mechanism that is not Gaussian the result is not a bound (5.58 for
    randomized response of epsilon 1). Delta must be above 0. The two-sided interval takes the
    rates' upper and lower bounds at a/4. Dong, Roth and Su 2022; Nasr et al. 2023, "Tight auditing
    of differentially private machine learning".
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
    return math.inf if mu == math.inf else GaussianFamily().epsilon(mu, delta)


@dataclass(frozen=True)
class PLD(CurveEstimator, CountsEstimator):
    """A bound on the effective noise multiplier of DP-SGD; assumes its sampling rate and steps.

    The trade-off curve f_s of q, T and a noise multiplier s is refuted if f_s(U0) > U1, where
    U0 and U1 are upper bounds on the false-positive and the false-negative rate, each at half
    of the error probability; s* = sup{s : f_s(U0) <= U1}, and the bound is its epsilon, rounded
    down. It trusts the sampling rate q and the steps T of the claim, so it cannot catch a fault
    in the sampling. Under replacement the accountant's own relation is used, in which a sum
    moves by twice the clip. Privacy loss distributions: Koskela, Jälkö and Honkela
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
