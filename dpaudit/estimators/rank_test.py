"""The exact rank test: the strongest bound on scores, for a known kind of curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpaudit.accounting.curves import Family, last_refuted
from dpaudit.estimators.base import CurveEstimator, level
from dpaudit.estimators.ranks import SimulatedEstimator, pairs_won, ranks, refuse_empty
from dpaudit.types import NOTHING_TO_CHOOSE, Adjacency, Array, Bound, Curve, Outcome

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
        """Return the largest bound that so many trials could give: that of worlds wholly apart."""
        refuse_empty(out, inn)
        curves = self._family(delta)
        return curves.epsilon(curves.parameter(most(curves, out, inn, self._a)), delta)


@lru_cache(maxsize=64)
def most(curves: Family, out: int, inn: int, a: float) -> int:
    """Return the most leaking step under which worlds are wholly apart with probability <= a."""

    def unlikely(parameter: float) -> float:
        with np.errstate(divide="ignore"):
            # Twice the logarithm, which is a number where it is next to 0 and to 1.
            found = np.log(-np.log(apart(curves, parameter, out, inn)))
            return float(found - np.log(-np.log(a)))

    return last_refuted(curves, unlikely)


def apart(curves: Family, parameter: float, out: int, inn: int) -> float:
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
