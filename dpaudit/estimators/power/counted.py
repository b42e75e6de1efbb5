"""Counted errors of the best threshold: Clopper-Pearson, GDP and PLD."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpaudit.accounting.curves import Family
from dpaudit.estimators import GDP, PLD, ClopperPearson
from dpaudit.estimators.power.truth import Truth, located
from dpaudit.estimators.selections import criterion
from dpaudit.rates import upper_rate
from dpaudit.types import Array, Assumption, Counts

FALSE_POSITIVES = ndtr(np.linspace(-6, 6, 121))
"""Rates among which the best threshold is looked for."""

TRIED = 5
"""Thresholds whose chance is computed, those that look best by the rates themselves."""

WIDE = 7.5
"""Deviations of a binomial beyond which there is next to nothing."""


@dataclass(frozen=True)
class Counted:
    """Both worlds' errors are binomial; all three estimators ask whether f(U0) > U1.

    f is the claimed curve of the kind that the estimator assumes, U0 and U1 are Clopper-Pearson's
    upper bounds on the rates. The chance is exact, for the best of many fixed thresholds.
    """

    name: str
    estimator: ClopperPearson | GDP | PLD
    assumed: Family
    truth: Truth

    @property
    def assumption(self) -> Assumption:
        return self.assumed.assumption

    @cached_property
    def claimed(self) -> float:
        """The parameter of the curve that must be refuted."""
        return located(self.assumed, self.truth.claim, self.truth.delta)

    @cached_property
    def rates(self) -> tuple[Array, Array]:
        """Of every threshold under the truth: false positives, false negatives."""
        missed = self.truth.curves.trade_off(self.truth.parameter, FALSE_POSITIVES)
        return FALSE_POSITIVES, missed

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, n, self.truth.delta)

    def typical(self, n: int) -> float:
        fp, fn = (np.rint(n * rates).astype(int) for rates in self.rates)
        best = int(np.argmax(criterion(self.estimator, self.truth.delta)(fp, n, fn, n)))
        x, y = (float(rates[best]) for rates in self.rates)
        middle = Counts(int(binom.median(n, x)), n, int(binom.median(n, y)), n)
        return self.estimator.bound(middle, self.truth.delta).epsilon

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        a = self.truth.a / 2
        u0, u1 = (upper_rate(n * rates, n, a) for rates in self.rates)
        with np.errstate(invalid="ignore"):
            beyond = ndtri(self.assumed.trade_off(self.claimed, u0)) - ndtri(u1)
        promising = np.argsort(np.where(np.isnan(beyond), -np.inf, beyond))[-TRIED:]
        x, y = self.rates
        return max(self._refuted(n, float(x[i]), float(y[i])) for i in promising)

    def _refuted(self, n: int, x: float, y: float) -> float:
        """The probability that the claim is refuted by a threshold of these true rates."""
        fp, fn = _likely(n, x), _likely(n, y)
        limit = self.assumed.trade_off(self.claimed, upper_rate(fp, n, self.truth.a / 2))
        allowed = np.searchsorted(upper_rate(fn, n, self.truth.a / 2), limit) + fn[0] - 1
        return min(1.0, float(binom.pmf(fp, n, x) @ binom.cdf(allowed, n, y)))


def _likely(n: int, rate: float) -> Array:
    """The counts that are not out of the question."""
    reach = WIDE * np.sqrt(n * rate * (1 - rate)) + WIDE**2 / 2
    return np.arange(max(0, int(n * rate - reach)), min(n, int(n * rate + reach) + 1) + 1)
