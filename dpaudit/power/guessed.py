"""Guesses on the canaries of one run: Steinke's bound, and that by curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        middle = int(np.sort(right := self._right(n))[len(right) // 2])
        return self.estimator.bound(Guesses(n, self.guesses(n), middle), self.truth.delta).epsilon

    def chance(self, n: int) -> float:
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
        """In each of many runs the number of right guesses."""
        runs = min(ENOUGH, max(FEWEST, NUMBERS // m))
        draw = generator(0, "plan", m)
        r = self.guesses(m)
        called_in = (r + 1) // 2
        right = np.empty(runs, dtype=int)
        for i in range(runs):
            put_in = draw.random(m) < 0.5
            place = draw.random(m)
            # Small is in.
            place[put_in] = self.truth.curves.inn(self.truth.parameter, place[put_in])
            order = np.argsort(place)
            right[i] = put_in[order[:called_in]].sum() + (r - called_in)
            right[i] -= put_in[order[m - (r - called_in) :]].sum()
        return right


SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)


def best_share(truth: Truth, canaries: int) -> float:
    """The share of canaries whose guesses show most, of a few, by what assumes nothing."""
    free = OneRun(confidence=truth.confidence)

    def shown(share: float) -> float:
        prospect = Guessed("one-run", free, Pure(truth.delta), truth, share)
        return prospect.typical(canaries)

    return max(SHARES, key=shown)
