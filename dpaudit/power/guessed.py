"""Guesses on the canaries of one run: Steinke's bound, and that by curve."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpaudit.curves import Family, Pure
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run_fdp import refuted
from dpaudit.power.truth import Truth, located
from dpaudit.seeds import generator
from dpaudit.types import Array, Assumption, Guesses

NUMBERS, FEWEST, ENOUGH = 2**20, 100, 500
"""Simulated canaries at most, and runs: a chance has a standard error of at most 0.05."""

CELLS = 2**16
"""Of a table of the true curve, which is asked for each of a million canaries."""


@dataclass(frozen=True)
class Guessed:
    """Simulated: canaries leak independently of each other, each as the true curve allows.

    `share` of them is guessed: half of that, those with the highest scores, in, the other half,
    with the lowest, out.
    """

    name: str
    estimator: OneRun | OneRunFDP
    assumed: Family
    truth: Truth
    share: float = 1.0

    @property
    def assumption(self) -> Assumption:
        return self.assumed.assumption

    def guesses(self, m: int) -> int:
        """How many of m canaries are guessed."""
        return max(1, round(self.share * m))

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, self.guesses(n), self.truth.delta)

    def typical(self, n: int) -> float:
        found = np.sort(self._right(n))
        middle = int(found[len(found) // 2])
        return self.estimator.bound(Guesses(n, self.guesses(n), middle), self.truth.delta).epsilon

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        r, found = self.guesses(n), self._right(n)
        values, times = np.unique(found, return_counts=True)
        # Who refutes with some right guesses does so with more.
        first = bisect_left(values.tolist(), True, key=lambda v: self._refutes(Guesses(n, r, v)))
        return float(times[first:].sum() / len(found))

    @cached_property
    def claimed(self) -> float:
        """The parameter of the curve that must be refuted."""
        return located(self.assumed, self.truth.claim, self.truth.delta)

    def _refutes(self, g: Guesses) -> bool:
        if isinstance(self.estimator, OneRun):
            return self.estimator.bound(g, self.truth.delta).epsilon > self.truth.claim
        return refuted(self.assumed, self.claimed, g, self.truth.a)

    def _right(self, m: int) -> Array:
        return right(self.truth, m, self.guesses(m))


@lru_cache(maxsize=64)
def right(truth: Truth, canaries: int, guesses: int) -> Array:
    """In each of many simulated runs the number of right guesses."""
    runs = min(ENOUGH, max(FEWEST, NUMBERS // canaries))
    draw = generator(0, "plan", canaries)
    table = truth.curves.inn(truth.parameter, np.linspace(0, 1, CELLS + 1))
    called_in, called_out = (guesses + 1) // 2, guesses // 2
    found = np.empty(runs, dtype=int)
    for i in range(runs):
        # Small is in.
        put_in = draw.random(canaries) < 0.5
        place = draw.random(canaries)
        where = CELLS * place[put_in]
        cell = where.astype(int)
        place[put_in] = table[cell] + (where - cell) * (table[cell + 1] - table[cell])
        order = np.argpartition(place, (called_in - 1, canaries - max(1, called_out)))
        first, last = order[:called_in], order[canaries - called_out :]
        found[i] = put_in[first].sum() + called_out - put_in[last].sum()
    return found


SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)
"""Of canaries that are guessed: fewer guesses are surer ones."""


def best_share(truth: Truth, canaries: int, estimator: OneRun | OneRunFDP) -> float:
    """The share of canaries whose guesses show most, of a few."""
    if isinstance(estimator, OneRunFDP):
        # The share is the same by any curve of that shape, and this one costs nothing.
        estimator = OneRunFDP(estimator.confidence)

    def shown(share: float) -> float:
        assumed = Pure(truth.delta)
        return Guessed("any", estimator, assumed, truth, share).typical(canaries)

    return max(SHARES, key=shown)
