"""Scores at all thresholds at once: the exact scan."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dpaudit.accounting.curves import Pure
from dpaudit.estimators import ExactScan
from dpaudit.estimators.exact_scan import EQUAL, LEVEL
from dpaudit.estimators.power.truth import Truth
from dpaudit.estimators.simulation import Draws
from dpaudit.rates import log_ratio, upper_rate
from dpaudit.types import Array, Assumption, Scores

NUMBERS = 2**19
"""Simulated trials of a world, at most: a chance takes some tenths of a second."""

FEWEST, ENOUGH = 250, 1000
"""Draws: the chance has a standard error of at most 0.03, and 0.016 where trials are few."""


@dataclass(frozen=True)
class Scanned:
    """Simulated: the scan's own statistic under the claim, and under the truth.

    NaN stands for what would take longer than seconds.
    """

    estimator: ExactScan
    truth: Truth
    name: str = "exact-scan"
    assumption: Assumption = "none"

    @cached_property
    def assumed(self) -> Pure:
        """The curve of (epsilon, delta) itself."""
        return Pure(self.truth.delta)

    def ceiling(self, n: int) -> float:
        return self.estimator.ceiling(n, n, self.truth.delta)

    def typical(self, n: int) -> float:
        if n > self.most:
            return math.nan
        found = np.concatenate([t for t, _, _ in self._drawn(n, "true")])
        middle, seen = int(np.argsort(found, kind="stable")[len(found) // 2]), 0
        for reached, out, inn in self._drawn(n, "true"):
            if middle < seen + len(reached):
                # Small is in, where a score is large.
                scores = Scores(-out[middle - seen], -inn[middle - seen])
                return self.estimator.bound(scores, self.truth.delta).epsilon
            seen += len(reached)
        return 0.0

    def chance(self, n: int) -> float:
        if not self.ceiling(n) > self.truth.claim:
            return 0.0
        if n > self.most:
            return math.nan
        found, expected = (
            np.sort(np.concatenate([t for t, _, _ in self._drawn(n, world)]))
            for world in ("true", "claimed")
        )
        as_large = len(expected) - np.searchsorted(expected, found - EQUAL)
        return float(np.mean((1 + as_large) / (len(expected) + 1) <= self.truth.a))

    @property
    def most(self) -> int:
        """Trials in each world that are simulated within some tenths of a second."""
        return 4 * NUMBERS // FEWEST

    def _drawn(self, n: int, which: str) -> Iterator[tuple[Array, Array, Array]]:
        """Draws in chunks: the statistic, out- and in-trials."""
        number = min(ENOUGH, max(FEWEST, NUMBERS // n))
        # Another seed for the truth: with the same draws both would rise and fall together.
        draws = Draws(n, n, number, seed=1 if which == "true" else 0)
        for _, out, uniform in draws.chunks(np.arange(number)):
            if which == "true":
                inn = self.truth.curves.inn(self.truth.parameter, uniform)
            else:
                inn = self.assumed.inn(self.truth.claim, uniform)
            yield statistic(out, inn, self.truth.delta), out, inn


@lru_cache(maxsize=8)
def _upper(n: int) -> Array:
    return upper_rate(np.arange(n + 1), n, LEVEL / 2)


def statistic(out: Array, inn: Array, delta: float) -> Array:
    """In each row of sorted trials the best naive bound over all thresholds."""
    u0, u1 = _upper(out.shape[1]), _upper(inn.shape[1])
    before = np.stack([np.searchsorted(i, o) for o, i in zip(out, inn, strict=True)])
    return np.asarray(log_ratio(u0[:-1], u1[inn.shape[1] - before], delta).max(axis=1))
