"""Clopper-Pearson: the bound that assumes nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, expit

from dpaudit.estimators import inputs
from dpaudit.estimators.sentences import ASSUMED, RULE, confident, credible, sentence
from dpaudit.protocols import Estimator
from dpaudit.rates import epsilon_interval, log_ratio, lower_rate, upper_rate
from dpaudit.results import Assumption, Bound, Counts, Outcome
from dpaudit.types import Array


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


# ----------------------------------------------------------------
# Jeffreys: Clopper-Pearson's formula with the quantiles of a posterior.


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


# ----------------------------------------------------------------
# Joint Beta: the epsilon that the joint posterior of both error rates puts above a line.


_STEPS = np.linspace(-1, 1, 801)
_LOG_ODDS = 8 * _STEPS + 32 * _STEPS**5
"""Of the quantiles at which FNR is taken: close together in the middle, and into both tails."""

_DENSITY = expit(_LOG_ODDS) * expit(-_LOG_ODDS) * (8 + 160 * _STEPS**4)
_WEIGHTS = _DENSITY / _DENSITY.sum()

_HIGHEST = 700.0
"""An epsilon whose power of e is still a number."""


@dataclass(frozen=True)
class JointBeta(Estimator):
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

    assumption: ClassVar[Assumption] = "prior"

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        c = inputs.given("joint Beta", Counts, outcome, delta)
        a = 1 - self.confidence
        posterior = _Posterior.of(c)
        epsilon = posterior.quantile(a, delta)
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="joint-beta",
            assumption=self.assumption,
            selection="as given",
            ceiling=self.ceiling(c.out, c.inn, delta),
            counts=c,
            interval=(posterior.quantile(a / 2, delta), posterior.quantile(1 - a / 2, delta)),
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
        inputs.given("joint Beta", Counts, flawless, delta)
        return _Posterior.of(flawless).quantile(1 - self.confidence, delta)


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
        """Of R(e): the mean over x of the chance that y is not below R's edge."""
        x = self.x
        edge = np.maximum(1 - delta - x * math.exp(e), (1 - delta - x) * math.exp(-e))
        return float(_WEIGHTS @ betainc(self.right, self.wrong, 1 - np.maximum(edge, 0)))

    def quantile(self, share: float, delta: float) -> float:
        """The epsilon below which this share of the posterior lies."""
        if self.mass(0.0, delta) >= share:
            return 0.0
        high = 1.0
        while self.mass(high, delta) < share and high < _HIGHEST:
            high = min(2 * high, _HIGHEST)
        if self.mass(high, delta) < share:
            return high
        return float(brentq(lambda e: self.mass(e, delta) - share, 0.0, high, xtol=1e-10))
