"""Guesses on the canaries of one run: Steinke's bound, and that by curve."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr

from dpaudit.accounting.curves import Family, Gaussian
from dpaudit.estimators import EProcess, OneRun, OneRunFDP, one_run
from dpaudit.estimators.e_process import FRACTIONS
from dpaudit.estimators.power.truth import Truth, located
from dpaudit.results import Assumption, Guesses
from dpaudit.seeds import generator
from dpaudit.types import Array

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

    `share` of them is guessed, or the share, of a few, that typically shows most: half of the
    guesses, on the highest scores, are in, the other half, on the lowest, out.
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
        """How many of m canaries are guessed; all, where no number typically shows anything."""
        if self.share is not None:
            return max(1, round(self.share * m))
        return _most_telling(self.truth, m, by_curve=isinstance(self.estimator, OneRunFDP))

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, self.guesses(n), self.truth.delta)

    def typical(self, n: int) -> float:
        return self.estimator.bound(
            _middle(self.truth, n, self.guesses(n)), self.truth.delta
        ).epsilon

    def chance(self, n: int) -> float:
        r = self.guesses(n)
        # Who refutes with some right guesses does so with more.
        enough = bisect_left(range(r + 1), True, key=lambda v: self._refuted(Guesses(n, r, v)))
        return float(np.mean(right(self.truth, n, r) >= enough))

    @cached_property
    def claimed(self) -> float:
        """The parameter of the curve that must be refuted."""
        return located(self.assumed, self.truth.claim, self.truth.delta)

    def _refuted(self, g: Guesses) -> bool:
        if isinstance(self.estimator, OneRun):
            return one_run.refuted(self.truth.claim, g, self.truth.delta, self.truth.a)
        return one_run.refuted_by_curve(self.assumed, self.claimed, g, self.truth.a)


def _middle(truth: Truth, m: int, r: int) -> Guesses:
    """The median outcome, if r of m canaries are guessed."""
    return Guesses(m, r, int(np.partition(right(truth, m, r), RUNS // 2)[RUNS // 2]))


@lru_cache(maxsize=1024)
def _most_telling(truth: Truth, m: int, by_curve: bool) -> int:
    """Of the numbers of guesses that are tried, that whose median outcome has the largest bound.

    Which number that is depends little on the curve, and the Gaussian one costs nothing.
    """
    curves, delta = Gaussian(), truth.delta
    estimator = OneRunFDP(truth.confidence) if by_curve else OneRun(truth.confidence)
    most, shown, parameter = m, 0.0, curves.parameter(1)

    def more(g: Guesses) -> bool:
        """Than is shown so far: one evaluation, where how much takes dozens."""
        if by_curve:
            return one_run.refuted_by_curve(curves, parameter, g, truth.a)
        return one_run.refuted(shown, g, delta, truth.a)

    for r in [m, *(r for r in reversed(GUESSES) if LEAST_SHARE * m <= r < m)]:
        if not more(Guesses(m, r, r)):
            break  # fewer guesses show less than so many, even if all are right
        if more(g := _middle(truth, m, r)):
            most, shown = r, estimator.bound(g, delta).epsilon
            parameter = located(curves, shown, delta) if by_curve else parameter
    return most


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


# ----------------------------------------------------------------
# Bets that stop once the claim is refuted: after how many pairs that is.


AUDITS, LONGEST = 1000, 2000
"""That are simulated, and the pairs after which each ends."""


@dataclass(frozen=True)
class Stopped:
    """Simulated: the best score there is, one attack, and a look after every pair.

    By the claimed curve it is the paired-AUC bet; without one, `Pure`, the e-process, with the
    threshold that is best for the truth. The first `fitting` pairs are not bet on.
    """

    assumed: Family
    truth: Truth
    fitting: int

    def pairs(self, share: float) -> int | None:
        """So many are enough in this share of audits; None where that takes more than LONGEST."""
        enough = np.sort(self._ends)[math.ceil(share * AUDITS) - 1]
        return self.fitting + int(enough) if math.isfinite(enough) else None

    @cached_property
    def _ends(self) -> Array:
        """The bet with which each audit is decided, or infinity."""
        draw = np.random.default_rng(0)
        out, u = draw.random((2, AUDITS, LONGEST))
        inn = self.truth.curves.inn(self.truth.parameter, u)
        first = (inn < out).astype(int)
        bets = self._by_curve(first) if self.assumed.assumption != "none" else self._free(out, inn)
        wealth = np.full(first.shape, -np.inf)
        for factors in bets:
            np.logaddexp(wealth, np.cumsum(factors, axis=1), out=wealth)
        decided = wealth >= math.log(len(bets) / self.truth.a)
        return np.where(decided.any(axis=1), decided.argmax(axis=1) + 1.0, np.inf)

    def _by_curve(self, first: Array) -> list[Array]:
        """Of every stake, the logarithm that a pair multiplies wealth by."""
        t = self.truth
        area = self.assumed.area(located(self.assumed, t.claim, t.delta))
        table = np.log1p(np.array([0.0, 1.0])[:, None] / area * FRACTIONS - FRACTIONS)
        return [column[first] for column in table.T]

    def _free(self, out: Array, inn: Array) -> list[Array]:
        """The same of every bet on decisions, of its mirror and of that on the order."""
        t = self.truth
        rules = EProcess(t.confidence, highest=float(math.ceil(min(30.0, max(10.0, t.claim + 1)))))
        above = np.flatnonzero(rules.grid() > t.claim)
        e = int(above[0]) if len(above) else -1
        decided, ordered = rules.log_factors(t.delta)[:, :, :, e], rules.log_orders(t.delta)[::2, e]
        cut = self._cut(decided)
        x, y, first = (np.asarray(said).astype(int) for said in (inn < cut, out < cut, inn < out))
        columns = decided.reshape(2, 2, -1).transpose(2, 0, 1)
        return [c[x, y] for c in columns] + [c[first] for c in ordered.T]

    def _cut(self, factors: Array) -> float:
        """The threshold by which the fastest bet grows fastest."""
        t = self.truth
        cuts = np.geomspace(1e-6, 0.999, 400)
        p1 = 1 - t.curves.trade_off(t.parameter, cuts)
        of_x, of_y = np.stack([1 - p1, p1]), np.stack([1 - cuts, cuts])
        growth = np.einsum("xc,yc,xysk->csk", of_x, of_y, factors)
        return float(cuts[growth.max(axis=(1, 2)).argmax()])
