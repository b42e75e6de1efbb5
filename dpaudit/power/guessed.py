"""Guesses on the canaries of one run: Steinke's bound, and that by curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpaudit.curves import Family, Pure
from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run_fdp import refuted
from dpaudit.power.needed import least
from dpaudit.power.truth import Truth, located
from dpaudit.seeds import generator
from dpaudit.types import Array, Assumption, Guesses

NUMBERS, FEWEST, ENOUGH = 2**21, 100, 1000
"""Simulated canaries at most, and runs: a chance has a standard error of 0.016 to 0.05."""

_T = np.linspace(0, 1, 2**14 + 1)
NODES = _T**2 * (3 - 2 * _T)
"""Dense at both ends, where guesses are surest."""


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
        r = self.guesses(n)
        enough = least(lambda v: self._refutes(Guesses(n, r, v)), r, start=0)
        return 0.0 if enough is None else float(np.mean(self._right(n) >= enough))

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
    # Small is in. A table, because a curve of DP-SGD takes its time for each of so many.
    inn = truth.curves.inn(truth.parameter, NODES)
    called_in, called_out = (guesses + 1) // 2, guesses // 2
    found = np.empty(runs, dtype=int)
    for i in range(runs):
        put_in = draw.random(canaries) < 0.5
        place = draw.random(canaries)
        place[put_in] = np.interp(place[put_in], NODES, inn)
        order = np.argsort(place)
        called = put_in[order[:called_in]], put_in[order[canaries - called_out :]]
        found[i] = called[0].sum() + (~called[1]).sum()
    return found


SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)


def best_share(truth: Truth, canaries: int) -> float:
    """The share of canaries whose guesses show most, of a few, by what assumes nothing."""
    free = OneRun(confidence=truth.confidence)

    def shown(share: float) -> float:
        prospect = Guessed("one-run", free, Pure(truth.delta), truth, share)
        return prospect.typical(canaries)

    return max(SHARES, key=shown)
