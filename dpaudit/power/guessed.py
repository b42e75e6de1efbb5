"""Guesses on the canaries of one run: Steinke's bound, and that by curve."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from dpaudit.curves import Family
from dpaudit.estimators import OneRun, OneRunFDP, one_run, one_run_fdp
from dpaudit.power.truth import Truth, located
from dpaudit.seeds import generator
from dpaudit.types import Array, Assumption, Guesses

RUNS = 4000
"""Simulated: a chance has a standard error of at most 0.008."""

GUESSES = sorted({round(1.25**i) for i in range(60)})
LEAST_SHARE = 0.01
"""Numbers that are tried, from all canaries to a hundredth: fewer guesses are surer ones."""

OUT = np.concatenate([[0.0], ndtr(np.linspace(-8, 8, 2**14)), [1.0]])
"""Places among out-canaries at which the true curve is asked."""


@dataclass(frozen=True)
class Guessed:
    """Canaries leak independently of each other, each as the true curve allows.

    `share` of them is guessed, or as many as refute most often: half of the guesses, on the
    highest scores, are in, the other half, on the lowest, out.
    """

    name: str
    estimator: OneRun | OneRunFDP
    assumed: Family
    truth: Truth
    share: float | None = None

    @property
    def assumption(self) -> Assumption:
        return self.assumed.assumption

    def guesses(self, m: int) -> int:
        """How many of m canaries are guessed; of equal chances, what shows most."""
        if self.share is not None:
            return max(self._numbers(m))
        # Which number that is depends little on the curve, and this one costs nothing.
        by = OneRunFDP(self.estimator.confidence)
        judge = by if isinstance(self.estimator, OneRunFDP) else self.estimator
        return max(
            self._numbers(m),
            key=lambda r: (round(self._chance(m, r), 2), self._typical(judge, m, r)),
        )

    def ceiling(self, n: int) -> float:
        # No wrong guess among more shows more.
        return self.estimator.ceiling(n, max(self._numbers(n)), self.truth.delta)

    def typical(self, n: int) -> float:
        return self._typical(self.estimator, n, self.guesses(n))

    def chance(self, n: int) -> float:
        return max(self._chance(n, r) for r in self._numbers(n))

    def _numbers(self, m: int) -> list[int]:
        """Of guesses, those that are looked at."""
        if self.share is not None:
            return [max(1, round(self.share * m))]
        return [r for r in GUESSES if LEAST_SHARE * m <= r < m] + [m]

    def _typical(self, estimator: OneRun | OneRunFDP, m: int, r: int) -> float:
        middle = int(np.sort(right(self.truth, m, r))[RUNS // 2])
        return estimator.bound(Guesses(m, r, middle), self.truth.delta).epsilon

    def _chance(self, m: int, r: int) -> float:
        # Who refutes with some right guesses does so with more.
        enough = bisect_left(range(r + 1), True, key=lambda v: self._refutes(Guesses(m, r, v)))
        return float(np.mean(right(self.truth, m, r) >= enough))

    @cached_property
    def claimed(self) -> float:
        """The parameter of the curve that must be refuted."""
        return located(self.assumed, self.truth.claim, self.truth.delta)

    def _refutes(self, g: Guesses) -> bool:
        if isinstance(self.estimator, OneRun):
            return one_run.refuted(self.truth.claim, g, self.truth.delta, self.truth.a)
        return one_run_fdp.refuted(self.assumed, self.claimed, g, self.truth.a)


@lru_cache(maxsize=256)
def right(truth: Truth, canaries: int, guesses: int) -> Array:
    """In each of many simulated runs the number of right guesses.

    Canaries in the order of their scores have the places of sorted uniform numbers. Those before
    (and after) a given one are independent of each other given its place u, so that the right
    guesses on them are binomial: of places below u a share G(u)/u is in. Only the places next
    to the guessed ones are drawn, never those of all canaries.
    """
    draw = generator(0, "plan", canaries)
    places, inn = _leak(truth)
    # Where all are guessed, the last one that is called in is the one whose place is drawn.
    all_guessed = guesses == canaries
    called_in, called_out = (guesses + 1) // 2 - all_guessed, guesses // 2
    between = canaries - called_in - called_out - 1
    first = draw.beta(called_in + 1, canaries - called_in, RUNS)
    past = (1 - first) * (draw.beta(called_out + 1, between, RUNS) if between else 1.0)
    below = np.interp(first, places, inn) / first
    above = (0.5 - np.interp(1 - past, places, inn)) / past
    found = draw.binomial(called_in, np.clip(below, 0, 1))
    found += draw.binomial(called_out, np.clip(1 - above, 0, 1))
    if all_guessed:
        cell = np.searchsorted(places, first)
        found += draw.random(RUNS) < np.diff(inn)[cell - 1] / np.diff(places)[cell - 1]
    return found


@lru_cache(maxsize=4)
def _leak(truth: Truth) -> tuple[Array, Array]:
    """Places u, and G(u): the probability that a canary is in and its place below u.

    Among out-canaries places x are uniform, in-canaries have the CDF 1 - f(x); half are either.
    """
    inn = 1 - truth.curves.trade_off(truth.parameter, OUT)
    return np.append(0.0, (OUT + inn) / 2), np.append(0.0, inn / 2)
