"""Scores in their order under a curve: the rank test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from dpaudit.accounting.curves import Family, last_refuted
from dpaudit.estimators import RankTest
from dpaudit.estimators.power.truth import Truth, located
from dpaudit.estimators.rank_test import apart, wins
from dpaudit.estimators.simulation import Draws
from dpaudit.types import Array, Assumption

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
