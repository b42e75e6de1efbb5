"""Forecasts for trials of two worlds: counted errors, ranks, all thresholds, and pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpaudit.accounting.curves import Family
from dpaudit.accounting.search import last_refuted
from dpaudit.estimators.exact_tests import EQUAL, LEVEL, separation_probability, wins
from dpaudit.estimators.hold_out import criterion
from dpaudit.estimators.power.prospect import Prospect, least
from dpaudit.estimators.simulation import Draws
from dpaudit.rates import log_ratio, upper_rate, upper_rates
from dpaudit.results import Counts, Scores
from dpaudit.types import Array

FALSE_POSITIVES = ndtr(np.linspace(-6, 6, 121))
"""Rates among which the best threshold is looked for."""

TRIED = 5
"""Thresholds whose chance is computed: those that look best by the rates themselves."""

WIDE = 7.5
"""Deviations of a binomial beyond which there is next to nothing."""


@dataclass(frozen=True)
class Counted(Prospect):
    """Counts of decisions (Clopper-Pearson, GDP and PLD), whose errors are binomial.

    All three estimators ask whether f(U0) > U1: f is the claimed curve of the kind that the
    estimator assumes, U0 and U1 are Clopper-Pearson's upper bounds on the rates. The chance is
    exact, for the best of many fixed thresholds.
    """

    @cached_property
    def rates(self) -> tuple[Array, Array]:
        """The false-positive and false-negative rates of every threshold under the truth."""
        missed = self.truth.curves.trade_off(self.truth.parameter, FALSE_POSITIVES)
        return FALSE_POSITIVES, missed

    def typical(self, n: int) -> float:
        fp, fn = (np.rint(n * rates).astype(int) for rates in self.rates)
        best = int(np.argmax(criterion(self.estimator, self.truth.delta)(fp, n, fn, n)))
        x, y = (float(rates[best]) for rates in self.rates)
        return self._shown(Counts(int(binom.median(n, x)), n, int(binom.median(n, y)), n))

    def _chance(self, n: int) -> float:
        u0, u1 = (upper_rate(n * rates, n, self.truth.a / 2) for rates in self.rates)
        with np.errstate(invalid="ignore"):
            beyond = ndtri(self.assumed.trade_off(self.claimed, u0)) - ndtri(u1)
        promising = np.argsort(np.where(np.isnan(beyond), -np.inf, beyond))[-TRIED:]
        x, y = self.rates
        return max(self._refuted(n, float(x[i]), float(y[i])) for i in promising)

    def _refuted(self, n: int, x: float, y: float) -> float:
        """Return the probability that a threshold of these true rates refutes the claim."""
        fp, fn = _likely(n, x), _likely(n, y)
        limit = self.assumed.trade_off(self.claimed, upper_rate(fp, n, self.truth.a / 2))
        allowed = np.searchsorted(upper_rate(fn, n, self.truth.a / 2), limit) + fn[0] - 1
        return min(1.0, float(binom.pmf(fp, n, x) @ binom.cdf(allowed, n, y)))


def _likely(n: int, rate: float) -> Array:
    """Return the counts within `WIDE` deviations."""
    reach = WIDE * np.sqrt(n * rate * (1 - rate)) + WIDE**2 / 2
    return np.arange(max(0, int(n * rate - reach)), min(n, int(n * rate + reach) + 1) + 1)


def _drawn(curves: Family, parameter: float, n: int, number: int, seed: int) -> tuple[Array, Array]:
    """Return `number` rows of n sorted trials of each world under a curve; small is in.

    The truth and the claim need different seeds: with the same draws they rise and fall together.
    """
    out, uniform = Draws(n, n, number, seed).all()
    return out, curves.inn(parameter, uniform)


def _share_refuted(expected: Array, found: Array, a: float) -> float:
    """Return the share of the statistics found that have p <= a among those expected."""
    as_large = len(expected) - np.searchsorted(np.sort(expected), found)
    return float(np.mean((1 + as_large) / (len(expected) + 1) <= a))


_T = (np.arange(4096) + 0.5) / 4096
NODES, WEIGHTS = _T**2 * (3 - 2 * _T), 6 * _T * (1 - _T) / len(_T)
"""Nodes and weights over false-positive rates; dense at both ends, where curves are steep."""

FEW, DRAWS = 200, 1000
"""Trials in each world up to which a chance is simulated, and how often."""

TINY = 1e-300
"""The least deviation to divide by."""


class Ranked(Prospect):
    """The rank test: simulated where trials are few; else the share of pairs won is Gaussian.

    Its mean is the area A = 1 - integral of f, its variance that of a two-sample U-statistic,
    (Var f(X) + Var Z)/n, where X is uniform and Z has the CDF 1 - f (Hoeffding 1948). Where the
    truth leaves the worlds wholly apart it is not, but that has a known probability. Either way
    the chance is right to 0.05 or so; the typical bound is always by the Gaussian.
    """

    @cached_property
    def true(self) -> tuple[float, float]:
        """Mean, and deviation of one trial, under the truth."""
        return moments(self.truth.curves, self.truth.parameter)

    def typical(self, n: int) -> float:
        if self._apart(n) > 0.5:
            return self.ceiling(n)
        step = last_refuted(self.assumed, lambda p: self._beyond(p, n))
        shown = self.assumed.epsilon(self.assumed.parameter(step), self.truth.delta)
        return min(shown, self.ceiling(n))

    def _chance(self, n: int) -> float:
        t = self.truth
        if n <= FEW:
            expected = wins(*_drawn(self.assumed, self.claimed, n, DRAWS, seed=0))
            found = wins(*_drawn(t.curves, t.parameter, n, DRAWS, seed=1))
            return _share_refuted(expected, found, t.a)
        clear = self._beyond(self.claimed, n) * math.sqrt(n) / max(self.true[1], TINY)
        return max(float(ndtr(clear)), self._apart(n))

    def _apart(self, n: int) -> float:
        return separation_probability(self.truth.curves, self.truth.parameter, n, n)

    def _beyond(self, parameter: float, n: int) -> float:
        """Return how far the true mean is above what would refute a curve."""
        mean, deviation = moments(self.assumed, parameter)
        return self.true[0] - mean + float(ndtri(self.truth.a)) * deviation / math.sqrt(n)


@lru_cache(maxsize=64)
def moments(curves: Family, parameter: float) -> tuple[float, float]:
    """Return the mean, and sqrt(n) times the deviation, of the share of pairs won."""
    missed = curves.trade_off(parameter, NODES)
    lost = float(WEIGHTS @ missed)
    of_out = float(WEIGHTS @ (missed - lost) ** 2)
    of_inn = float(WEIGHTS @ (2 * NODES * missed)) - lost**2
    return 1 - lost, math.sqrt(max(0.0, of_out) + max(0.0, of_inn))


NUMBERS = 2**19
"""Simulated trials of a world, at most: a chance takes some tenths of a second."""

FEWEST, ENOUGH = 250, 1000
"""Draws: the chance has a standard error of at most 0.03, and 0.016 where trials are few."""


class Scanned(Prospect):
    """The exact scan: its own statistic is simulated, under the claim and under the truth.

    NaN stands for what would take longer than seconds.
    """

    most = 4 * NUMBERS // FEWEST
    """Trials in each world that are simulated within some tenths of a second."""

    def typical(self, n: int) -> float:
        if n > self.most:
            return math.nan
        out, inn = self._true(n)
        found = statistic(out, inn, self.truth.delta)
        middle = np.argsort(found, kind="stable")[len(found) // 2]
        # Small is in, where a score is large.
        return self._shown(Scores(-out[middle], -inn[middle]))

    def _chance(self, n: int) -> float:
        if n > self.most:
            return math.nan
        claimed = _drawn(self.assumed, self.truth.claim, n, self._number(n), seed=0)
        expected, found = (statistic(*d, self.truth.delta) for d in (claimed, self._true(n)))
        return _share_refuted(expected, found - EQUAL, self.truth.a)

    def _true(self, n: int) -> tuple[Array, Array]:
        return _drawn(self.truth.curves, self.truth.parameter, n, self._number(n), seed=1)

    def _number(self, n: int) -> int:
        return min(ENOUGH, max(FEWEST, NUMBERS // n))


def statistic(out: Array, inn: Array, delta: float) -> Array:
    """Return, by row of sorted trials, the best naive bound over all thresholds."""
    u0, u1 = (upper_rates(a.shape[1], LEVEL / 2) for a in (out, inn))
    before = np.stack([np.searchsorted(i, o) for o, i in zip(out, inn, strict=True)])
    return np.asarray(log_ratio(u0[:-1], u1[inn.shape[1] - before], delta).max(axis=1))


class Paired(Prospect):
    """Paired AUC: lost pairs are binomial, so that the chance is exact."""

    @cached_property
    def lost(self) -> float:
        """The probability that the in-trial of a pair scores lower, by the best score."""
        return 1 - self.truth.curves.area(self.truth.parameter)

    def typical(self, n: int) -> float:
        inn = np.where(np.arange(n) < int(binom.median(n, self.lost)), -1.0, 1.0)
        return self._shown(Scores(np.zeros(n), inn))

    def _chance(self, n: int) -> float:
        a, at_least = self.truth.a, 1 - self.assumed.area(self.claimed)
        too_many = least(lambda k: bool(upper_rate(k, n, a) >= at_least), n, start=0)
        return float(binom.cdf(n if too_many is None else too_many - 1, n, self.lost))
