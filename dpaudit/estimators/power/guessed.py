"""Forecasts for guesses on the canaries of one run: Steinke's bound, and that by curve."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dpaudit.accounting.curves import GaussianFamily
from dpaudit.estimators import OneRun, OneRunFDP, one_run
from dpaudit.estimators.power.prospect import Prospect, Truth, least_parameter_above
from dpaudit.results import Guesses
from dpaudit.seeds import generator
from dpaudit.types import Array

RUNS = 4000
"""Simulated runs: a chance has a standard error of at most 0.008."""

GUESSES = sorted({round(1.25**i) for i in range(60)})
LEAST_SHARE = 0.01
"""Numbers that are tried, from all canaries to a hundredth: fewer guesses are surer ones."""

OUT = np.concatenate([[0.0], ndtr(np.linspace(-8, 8, 2**14)), [1.0]])
"""Places among out-canaries at which the true curve is evaluated."""


@dataclass(frozen=True)
class Guessed(Prospect):
    """Guesses of one run, whose canaries leak independently, each as the true curve allows.

    `share` of them is guessed, or the share, of a few, that typically shows most: half of the
    guesses, on the highest scores, are in, the other half, on the lowest, out.
    """

    share: float | None = None

    def guesses(self, m: int) -> int:
        """Return how many of m canaries are guessed; all, if no number typically shows anything."""
        if self.share is not None:
            return max(1, round(self.share * m))
        return _most_telling(self.truth, m, by_curve=isinstance(self.estimator, OneRunFDP))

    def ceiling(self, n: int) -> float:
        return float(self.estimator.ceiling(n, self.guesses(n), self.truth.delta))

    def typical(self, n: int) -> float:
        return self._shown(_middle(self.truth, n, self.guesses(n)))

    def chance(self, n: int) -> float:
        return self._chance(n)

    def _chance(self, n: int) -> float:
        r = self.guesses(n)
        # Whatever is refuted with some right guesses is refuted with more.
        enough = bisect_left(range(r + 1), True, key=lambda v: self._refuted(Guesses(n, r, v)))
        return float(np.mean(right(self.truth, n, r) >= enough))

    def _refuted(self, g: Guesses) -> bool:
        if isinstance(self.estimator, OneRun):
            return one_run.is_refuted(self.truth.claim, g, self.truth.delta, self.truth.a)
        return one_run.refuted_by_curve(self.assumed, self.claimed, g, self.truth.a)


def _middle(truth: Truth, m: int, r: int) -> Guesses:
    """Return the median outcome if r of m canaries are guessed."""
    return Guesses(m, r, int(np.partition(right(truth, m, r), RUNS // 2)[RUNS // 2]))


@lru_cache(maxsize=1024)
def _most_telling(truth: Truth, m: int, by_curve: bool) -> int:
    """Return the number of guesses, of those tried, whose median outcome has the largest bound.

    Which number that is depends little on the curve, and the Gaussian one costs nothing.
    """
    curves, delta = GaussianFamily(), truth.delta
    estimator = OneRunFDP(truth.confidence) if by_curve else OneRun(truth.confidence)
    most, shown, parameter = m, 0.0, curves.parameter(1)

    def more(g: Guesses) -> bool:
        """Return whether more is shown than so far: one evaluation; how much takes dozens."""
        if by_curve:
            return one_run.refuted_by_curve(curves, parameter, g, truth.a)
        return one_run.is_refuted(shown, g, delta, truth.a)

    for r in [m, *(r for r in reversed(GUESSES) if LEAST_SHARE * m <= r < m)]:
        if not more(Guesses(m, r, r)):
            break  # fewer guesses show less than so many, even if all are right
        if more(g := _middle(truth, m, r)):
            most, shown = r, estimator.bound(g, delta).epsilon
            parameter = least_parameter_above(curves, shown, delta) if by_curve else parameter
    return most


@lru_cache(maxsize=256)
def right(truth: Truth, canaries: int, guesses: int) -> Array:
    """Return the number of right guesses in each of many simulated runs.

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
    """Return places u, and G(u): the probability that a canary is in and its place below u.

    Among out-canaries places x are uniform, in-canaries have the CDF 1 - f(x); half are either.
    """
    inn = 1 - truth.curves.trade_off(truth.parameter, OUT)
    return np.append(0.0, (OUT + inn) / 2), np.append(0.0, inn / 2)
