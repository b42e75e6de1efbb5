"""Exact tests of scores, by simulation: the rank test under a curve, and the exact scan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpaudit.accounting.curves import Family, PureFamily
from dpaudit.accounting.search import last_refuted
from dpaudit.estimators.base import CurveEstimator, level, refuse_delta
from dpaudit.estimators.ranks import SimulatedEstimator, pairs_won, ranks, refuse_empty
from dpaudit.rates import log_ratio, upper_rates
from dpaudit.results import NOTHING_TO_CHOOSE, Bound, Outcome
from dpaudit.types import Adjacency, Array, Curve

ALL_THRESHOLDS = "all thresholds at once"
"""The selection of its bounds."""

LEVEL = 0.05
"""Level of the naive bounds whose maximum is taken, whatever the confidence."""

EQUAL = 1e-9
"""A simulated maximum that falls short by at most this much counts as reached."""

NODES = 2**13
"""Nodes of the quadrature over the lowest out-trial, for the ceiling."""


@dataclass(frozen=True)
class RankTest(CurveEstimator, SimulatedEstimator):
    """The Wilcoxon statistic over all pairs of trials; assumes a kind of trade-off curve.

    U counts the pairs in which the in-trial scores higher. Under a curve f it is largest, in
    law, if in-trials have the CDF 1 - f where out-trials are uniform; simulated so with `draws`
    draws, the p-value of a curve is (1 + #{U* >= U})/(draws + 1) and exact for any number of
    trials. The bound is the epsilon of the most leaking curve with p <= 1 - confidence. There
    is no threshold to choose; the score must be fixed without the trials that are judged, and
    trials must be independent. Ties between the worlds are judged as `base.py` says, so that
    constant scores give 0. Wilcoxon 1945; for trade-off curves by domination, see
    `simulation.py`.
    """

    curve: str | Curve | Family = "gaussian"
    confidence: float = 0.95
    seed: int = 0
    draws: int = 2000
    adjacency: Adjacency = "add-remove"

    name = "rank-test"

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        out, inn = ranks(outcome, self.name)
        curves = self._family(delta)
        won, tied = pairs_won(out, inn, self.seed)

        def exceeds(drawn: Array, uniform: Array, parameter: float) -> Array:
            return wins(drawn, curves.inn(parameter, uniform)) >= won

        parameter = self._last_rejected(curves, exceeds, out, inn, level(self._a, tied))
        ceiling = self.ceiling(len(out), len(inn), delta)
        found = curves.epsilon(parameter, delta)
        return self._bound(found, ceiling, delta, selection=NOTHING_TO_CHOOSE)

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """Return the bound of a number of trials with separate worlds, the largest possible."""
        refuse_empty(out, inn)
        curves = self._family(delta)
        return curves.epsilon(curves.parameter(most(curves, out, inn, self._a)), delta)


@lru_cache(maxsize=64)
def most(curves: Family, out: int, inn: int, a: float) -> int:
    """Return the most leaking step under which worlds are wholly apart with probability <= a."""

    def unlikely(parameter: float) -> float:
        with np.errstate(divide="ignore"):
            # Twice the logarithm, which is a number where it is next to 0 and to 1.
            found = np.log(-np.log(separation_probability(curves, parameter, out, inn)))
            return float(found - np.log(-np.log(a)))

    return last_refuted(curves, unlikely)


def separation_probability(curves: Family, parameter: float, out: int, inn: int) -> float:
    """Return the probability that every in-trial comes before every out-trial under a curve."""
    middles = (np.arange(NODES) + 0.5) / NODES
    lowest = -np.expm1(np.log1p(-middles) / out)
    errors = curves.trade_off(parameter, lowest)
    with np.errstate(divide="ignore"):
        return float(np.exp(inn * np.log1p(-errors)).mean())


def wins(out: Array, inn: Array) -> Array:
    """Return, by row, the pairs in which the in-trial is smaller; rows are in order."""
    lost = [o.searchsorted(i) for o, i in zip(out, inn, strict=True)]
    below = np.array(lost, dtype=np.intp).reshape(inn.shape).sum(axis=1)
    return np.asarray(out.shape[1] * inn.shape[1] - below)


@dataclass(frozen=True)
class ExactScan(SimulatedEstimator):
    """The best Clopper-Pearson bound over all thresholds, corrected for selection.

    T is the maximum over all thresholds of the naive 95 % bound ln((1-d-U0)/U1) or
    ln((1-d-U1)/U0). It cannot fall when an in-score overtakes an out-score, so that of all
    (epsilon, d)-DP mechanisms it is largest, in law, under the curve of (epsilon, d) itself;
    simulated so with `draws` draws, p = (1 + #{T* >= T})/(draws + 1), and the bound is the
    largest epsilon with p <= 1 - confidence. Assumes nothing but independent trials and a score
    that was fixed without them. Only thresholds between distinct scores count: T is then no
    larger than with any order of tied trials, and constant scores give 0. The proof is that of
    `simulation.py`.
    """

    confidence: float = 0.95
    seed: int = 0
    draws: int = 2000

    name = "exact-scan"

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        refuse_delta(delta)
        out, inn = ranks(outcome, self.name)
        found, ceiling = self._epsilon(out, inn, delta), self.ceiling(len(out), len(inn), delta)
        return self._bound(found, ceiling, delta, selection=ALL_THRESHOLDS)

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """Return ln((t-d)/(1-t)), t = a^(1/(n0+n1)): no method that assumes nothing can give more.

        Randomized response of that epsilon has no error in any trial with probability a.
        """
        refuse_delta(delta)
        refuse_empty(out, inn)
        log_t = math.log(self._a) / (out + inn)
        t, wrong = math.exp(log_t), -math.expm1(log_t)
        return max(0.0, math.log((t - delta) / wrong)) if t > delta else 0.0

    def _epsilon(self, out: Array, inn: Array, delta: float) -> float:
        corners = Corners.of(out, inn, delta)
        if corners is None:
            return 0.0
        curves = PureFamily(delta)

        def exceeds(drawn: Array, uniform: Array, parameter: float) -> Array:
            # The in-trials in order are those of the uniforms in order: no more are needed.
            met = curves.inn(parameter, uniform[:, corners.inn]) < drawn[:, corners.out]
            return np.asarray(met.any(axis=1))

        return self._last_rejected(curves, exceeds, out, inn, self._a)


@dataclass(frozen=True)
class Corners:
    """Conditions on two worlds in order under which their T reaches that of the trials.

    For some i, the in-trial of rank `inn[i]` among its own lies before the out-trial of rank
    `out[i]`; then there is a threshold with out[i] false positives and few enough false
    negatives.
    """

    out: Array
    inn: Array

    @classmethod
    def of(cls, out: Array, inn: Array, delta: float) -> Corners | None:
        """Return the corners for the ranks of the trials; None if any order at all would do."""
        u0, u1 = (upper_rates(len(world), LEVEL / 2) for world in (out, inn))
        # From the highest score down: between two out-trials the best threshold is the lower.
        # An in-trial that is tied with an out-trial is missed with it.
        missed = np.append(np.searchsorted(np.sort(inn), np.sort(out)[::-1], side="right"), 0)
        reached = float(log_ratio(u0, u1[missed], delta).max()) - EQUAL
        if reached == -math.inf:
            return None
        # Solved for U1, in either direction.
        limit = np.maximum(
            (1 - delta - u0) * math.exp(-reached), 1 - delta - u0 * math.exp(reached)
        )
        may_miss = np.searchsorted(u1, limit, side="right") - 1
        if may_miss[-1] >= 0 or may_miss[0] == len(inn):
            return None
        # Of several numbers of false positives that allow as many misses the largest will do.
        last = np.append(np.diff(may_miss) < 0, False) & (may_miss >= 0)
        places = np.flatnonzero(last)
        return cls(out=places, inn=len(inn) - may_miss[places] - 1)
