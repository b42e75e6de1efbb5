"""Forecasts for bets that stop once the claim is refuted: after how many pairs that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpaudit.accounting.curves import Family
from dpaudit.estimators import EProcess
from dpaudit.estimators.e_process import FRACTIONS
from dpaudit.estimators.power.prospect import Truth, least_parameter_above
from dpaudit.types import Array

AUDITS, LONGEST = 1000, 2000
"""Simulated audits, and the pairs after which each ends."""

BLOCK = 100
"""Pairs that are simulated at once."""


@dataclass(frozen=True)
class Stopped:
    """Bets of one attack with the best score there is, simulated, with a look after every pair.

    By the claimed curve it is the paired-AUC bet; without one (`PureFamily`) it is the e-process
    with the threshold that is best for the truth. The first `fitting` pairs are not bet on.
    """

    assumed: Family
    truth: Truth
    fitting: int

    def pairs(self, share: float) -> int | None:
        """Return the pairs that are enough in this share of audits; None: more than LONGEST."""
        enough = np.sort(self._ends)[math.ceil(share * AUDITS) - 1]
        return self.fitting + int(enough) if math.isfinite(enough) else None

    @cached_property
    def _ends(self) -> Array:
        """The bet that decides each audit, or infinity; a decided audit is played no further."""
        draw = np.random.default_rng(0)
        out, u = draw.random((2, AUDITS, LONGEST))
        inn = self.truth.curves.inn(self.truth.parameter, u)
        by_curve = self.assumed.assumption != "none"
        bets, pairs = self._by_curve(out, inn) if by_curve else self._free(out, inn)
        won, enough = np.zeros((len(bets), AUDITS)), math.log(len(bets) / self.truth.a)
        left, ends = np.arange(AUDITS), np.full(AUDITS, np.inf)
        for start in range(0, LONGEST, BLOCK):
            block = pairs[left, start : start + BLOCK]
            wealth = np.full(block.shape, -np.inf)
            for bet, so_far in zip(bets, won, strict=True):
                factors = bet[block]
                factors[:, 0] += so_far[left]
                np.cumsum(factors, axis=1, out=factors)
                np.logaddexp(wealth, factors, out=wealth)
                so_far[left] = factors[:, -1]
            decided = wealth >= enough
            ended = decided.any(axis=1)
            ends[left[ended]] = start + decided[ended].argmax(axis=1) + 1.0
            left = left[~ended]
        return ends

    def _by_curve(self, out: Array, inn: Array) -> tuple[Array, Array]:
        """Return the log factors of each stake's wealth by outcome, and the outcomes of pairs."""
        t = self.truth
        area = self.assumed.area(least_parameter_above(self.assumed, t.claim, t.delta))
        table = np.log1p(np.array([0.0, 1.0])[:, None] / area * FRACTIONS - FRACTIONS)
        return table.T, (inn < out).astype(np.int8)

    def _free(self, out: Array, inn: Array) -> tuple[Array, Array]:
        """Return those of every bet on decisions, of its mirror and of that on the order."""
        t = self.truth
        rules = EProcess(t.confidence, highest=float(math.ceil(min(30.0, max(10.0, t.claim + 1)))))
        above = np.flatnonzero(rules.grid() > t.claim)
        e = int(above[0]) if len(above) else -1
        decided, ordered = rules.log_factors(t.delta)[:, :, :, e], rules.log_orders(t.delta)[::2, e]
        cut = self._cut(decided)
        # An outcome is made of both decisions and the order.
        bets = np.hstack([decided.reshape(4, -1).repeat(2, axis=0), np.tile(ordered, (4, 1))])
        outcomes = 4 * (inn < cut) + 2 * (out < cut) + (inn < out)
        return bets.T, outcomes.astype(np.int8)

    def _cut(self, factors: Array) -> float:
        """Return the threshold by which the fastest bet grows fastest."""
        t = self.truth
        cuts = np.geomspace(1e-6, 0.999, 400)
        p1 = 1 - t.curves.trade_off(t.parameter, cuts)
        of_x, of_y = np.stack([1 - p1, p1]), np.stack([1 - cuts, cuts])
        growth = np.einsum("xc,yc,xysk->csk", of_x, of_y, factors)
        return float(cuts[growth.max(axis=(1, 2)).argmax()])
