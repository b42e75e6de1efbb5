"""Counted errors of the best threshold: Clopper-Pearson, GDP and PLD."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from dpaudit.accounting.curves import Family, Pure, last_refuted
from dpaudit.estimators import GDP, PLD, ClopperPearson, ExactScan, PairedAUC, RankTest
from dpaudit.estimators.exact_scan import EQUAL, LEVEL
from dpaudit.estimators.power.truth import Truth, least, located
from dpaudit.estimators.rank_test import apart, wins
from dpaudit.estimators.selections import criterion
from dpaudit.estimators.simulation import Draws
from dpaudit.rates import log_ratio, upper_rate
from dpaudit.results import Assumption, Counts, Scores
from dpaudit.types import Array

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


# ----------------------------------------------------------------
# Scores in their order under a curve: the rank test.


_T = (np.arange(4096) + 0.5) / 4096
NODES, WEIGHTS = _T**2 * (3 - 2 * _T), 6 * _T * (1 - _T) / len(_T)
"""Of integrals over false-positive rates; dense at both ends, where curves are steep."""

FEW, DRAWS = 200, 1000
"""Trials in each world up to which a chance is simulated, and how often."""

TINY = 1e-300
"""Where there is no deviation left to divide by."""


@dataclass(frozen=True)
class Ranked:
    """Simulated where trials are few; with many the share of pairs won is nearly Gaussian.

    Its mean is the area A = 1 - integral of f, its variance that of a two-sample U-statistic,
    (Var f(X) + Var Z)/n, where X is uniform and Z has the CDF 1 - f (Hoeffding 1948). Where the
    truth leaves the worlds wholly apart it is not, but that has a known probability. Either way
    the chance is right to 0.05 or so; the typical bound is always by the Gaussian.
    """

    estimator: RankTest
    assumed: Family
    truth: Truth
    name: str = "rank-test"

    @property
    def assumption(self) -> Assumption:
        return self.assumed.assumption

    @cached_property
    def claimed(self) -> tuple[float, float]:
        """Mean, and deviation of one trial, if the claim held."""
        return moments(self.assumed, located(self.assumed, self.truth.claim, self.truth.delta))

    @cached_property
    def true(self) -> tuple[float, float]:
        """Mean, and deviation of one trial, under the truth."""
        return moments(self.truth.curves, self.truth.parameter)

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, n, self.truth.delta)

    def typical(self, n: int) -> float:
        if self._apart(n) > 0.5:
            return self.ceiling(n)
        step = last_refuted(self.assumed, lambda p: self._beyond(moments(self.assumed, p), n))
        shown = self.assumed.epsilon(self.assumed.parameter(step), self.truth.delta)
        return min(shown, self.ceiling(n))

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        if n <= FEW:
            return self._simulated(n)
        clear = self._beyond(self.claimed, n) * math.sqrt(n) / max(self.true[1], TINY)
        return max(float(ndtr(clear)), self._apart(n))

    def _simulated(self, n: int) -> float:
        """The share of draws from the truth that have p <= a under the claim."""
        claimed = located(self.assumed, self.truth.claim, self.truth.delta)
        expected = np.sort(_won(self.assumed, claimed, Draws(n, n, DRAWS, seed=0)))
        # Another seed for the truth: with the same draws both would rise and fall together.
        found = _won(self.truth.curves, self.truth.parameter, Draws(n, n, DRAWS, seed=1))
        as_large = len(expected) - np.searchsorted(expected, found)
        return float(np.mean((1 + as_large) / (len(expected) + 1) <= self.truth.a))

    def _apart(self, n: int) -> float:
        return apart(self.truth.curves, self.truth.parameter, n, n)

    def _beyond(self, refuted: tuple[float, float], n: int) -> float:
        """How far the true mean is above what would refute a curve of these moments."""
        mean, deviation = refuted
        return self.true[0] - mean + float(ndtri(self.truth.a)) * deviation / math.sqrt(n)


def _won(curves: Family, parameter: float, draws: Draws) -> Array:
    """The pairs that in-trials win, in each draw from a curve."""
    every = draws.chunks(np.arange(draws.number))
    return np.concatenate([wins(out, curves.inn(parameter, u)) for _, out, u in every])


def moments(curves: Family, parameter: float) -> tuple[float, float]:
    """The mean, and sqrt(n) times the deviation, of the share of pairs won."""
    missed = curves.trade_off(parameter, NODES)
    lost = float(WEIGHTS @ missed)
    of_out = float(WEIGHTS @ (missed - lost) ** 2)
    of_inn = float(WEIGHTS @ (2 * NODES * missed)) - lost**2
    return 1 - lost, math.sqrt(max(0.0, of_out) + max(0.0, of_inn))


# ----------------------------------------------------------------
# Scores at all thresholds at once: the exact scan.


NUMBERS = 2**19
"""Simulated trials of a world, at most: a chance takes some tenths of a second."""

FEWEST, ENOUGH = 250, 1000
"""Draws: the chance has a standard error of at most 0.03, and 0.016 where trials are few."""


@dataclass(frozen=True)
class Scanned:
    """Simulated: the scan's own statistic under the claim, and under the truth.

    NaN stands for what would take longer than seconds.
    """

    estimator: ExactScan
    truth: Truth
    name: str = "exact-scan"
    assumption: Assumption = "none"

    @cached_property
    def assumed(self) -> Pure:
        """The curve of (epsilon, delta) itself."""
        return Pure(self.truth.delta)

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, n, self.truth.delta)

    def typical(self, n: int) -> float:
        if n > self.most:
            return math.nan
        found = np.concatenate([t for t, _, _ in self._drawn(n, "true")])
        middle, seen = int(np.argsort(found, kind="stable")[len(found) // 2]), 0
        for reached, out, inn in self._drawn(n, "true"):
            if middle < seen + len(reached):
                # Small is in, where a score is large.
                scores = Scores(-out[middle - seen], -inn[middle - seen])
                return self.estimator.bound(scores, self.truth.delta).epsilon
            seen += len(reached)
        return 0.0

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        if n > self.most:
            return math.nan
        found, expected = (
            np.sort(np.concatenate([t for t, _, _ in self._drawn(n, world)]))
            for world in ("true", "claimed")
        )
        as_large = len(expected) - np.searchsorted(expected, found - EQUAL)
        return float(np.mean((1 + as_large) / (len(expected) + 1) <= self.truth.a))

    @property
    def most(self) -> int:
        """Trials in each world that are simulated within some tenths of a second."""
        return 4 * NUMBERS // FEWEST

    def _drawn(self, n: int, which: str) -> Iterator[tuple[Array, Array, Array]]:
        """Draws in chunks: the statistic, out- and in-trials."""
        number = min(ENOUGH, max(FEWEST, NUMBERS // n))
        # Another seed for the truth: with the same draws both would rise and fall together.
        draws = Draws(n, n, number, seed=1 if which == "true" else 0)
        for _, out, uniform in draws.chunks(np.arange(number)):
            if which == "true":
                inn = self.truth.curves.inn(self.truth.parameter, uniform)
            else:
                inn = self.assumed.inn(self.truth.claim, uniform)
            yield statistic(out, inn, self.truth.delta), out, inn


@lru_cache(maxsize=8)
def _upper(n: int) -> Array:
    return upper_rate(np.arange(n + 1), n, LEVEL / 2)


def statistic(out: Array, inn: Array, delta: float) -> Array:
    """In each row of sorted trials the best naive bound over all thresholds."""
    u0, u1 = _upper(out.shape[1]), _upper(inn.shape[1])
    before = np.stack([np.searchsorted(i, o) for o, i in zip(out, inn, strict=True)])
    return np.asarray(log_ratio(u0[:-1], u1[inn.shape[1] - before], delta).max(axis=1))


# ----------------------------------------------------------------
# Scores in pairs: paired AUC.


@dataclass(frozen=True)
class Paired:
    """Lost pairs are binomial: the chance is exact."""

    estimator: PairedAUC
    assumed: Family
    truth: Truth
    name: str = "paired-auc"

    @property
    def assumption(self) -> Assumption:
        return self.assumed.assumption

    @cached_property
    def lost(self) -> float:
        """How often the in-trial of a pair scores lower, if the score is the best there is."""
        return 1 - self.truth.curves.area(self.truth.parameter)

    @cached_property
    def claimed(self) -> float:
        """How often at least, if the claim held."""
        return 1 - self.assumed.area(located(self.assumed, self.truth.claim, self.truth.delta))

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, n, self.truth.delta)

    def typical(self, n: int) -> float:
        inn = np.where(np.arange(n) < int(binom.median(n, self.lost)), -1.0, 1.0)
        return self.estimator.bound(Scores(np.zeros(n), inn), self.truth.delta).epsilon

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        too_many = least(lambda k: bool(upper_rate(k, n, self.truth.a) >= self.claimed), n, start=0)
        return float(binom.cdf(n if too_many is None else too_many - 1, n, self.lost))
