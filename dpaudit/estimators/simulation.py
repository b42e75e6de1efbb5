"""Tests by simulation under the worst curve, exact for any number of draws.

Map scores to p-values under 'out': out-trials become uniform, and in-trials have a CDF of at
most 1 - f, so that draws from 1 - f itself dominate them. A statistic that cannot fall when an
in-score overtakes an out-score is therefore stochastically largest if in-trials are such draws,
whatever the distribution of the scores. With B draws T* of it, p = (1 + #{T* >= T})/(B + 1) is
a p-value for the curve (Dwass 1957), and with the same random numbers at every curve of a
family it can only rise with the leak.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpaudit.accounting.curves import Family
from dpaudit.seeds import generator
from dpaudit.types import Array

AT_ONCE = 2**18
"""Numbers that are held at a time: they stay in a processor's cache."""

HELD = 2**22
"""Numbers of undecided draws that are kept from step to step, 32 MB; more are made anew."""

RESOLUTION = 2**20
"""Parts, at most, of the way from no leak to the most."""

Exceeds = Callable[[Array, Array, float], Array]
"""Returns, for rows of sorted out-trials and uniforms, whether T* >= T under a parameter."""


@dataclass(frozen=True)
class Draws:
    """Sorted uniform numbers for two worlds, `number` rows of them, made again when asked for.

    `kept` are the rows that remain, in ascending order (None: all); if they are few, they are
    in `memory`.
    """

    out: int
    inn: int
    number: int
    seed: int
    kept: Array | None = None
    memory: tuple[Array, Array] | None = None

    @property
    def remaining(self) -> Array:
        """The numbers of the remaining rows."""
        return np.arange(self.number) if self.kept is None else self.kept

    def chunks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Yield the remaining rows chunk by chunk, with their places among those."""
        numbers, size = self.remaining, max(1, AT_ONCE // (self.out + self.inn + 2))
        if self.memory is not None:
            out, inn = self.memory
            for start in range(0, len(numbers), size):
                places = slice(start, start + size)
                yield places, out[places], inn[places]
            return
        ends = np.flatnonzero(np.diff(numbers // size)) + 1
        for start, end in zip([0, *ends], [*ends, len(numbers)], strict=True):
            if start < end:
                chunk = int(numbers[start]) // size
                keep = numbers[start:end] - chunk * size
                draw = generator(self.seed, "simulation", chunk)
                rows = min(size, self.number - chunk * size)
                out, inn = (_sorted(draw, rows, n)[keep] for n in (self.out, self.inn))
                yield slice(start, end), out, inn

    def all(self) -> tuple[Array, Array]:
        """Return the remaining rows in memory."""
        rows = len(self.remaining)
        out, inn = np.empty((rows, self.out)), np.empty((rows, self.inn))
        for places, *drawn in self.chunks():
            out[places], inn[places] = drawn
        return out, inn

    def only(self, keep: Array) -> Draws:
        """Return the marked rows of those that remain, in memory if they are few."""
        if self.memory is not None:
            out, inn = self.memory
            return replace(self, kept=self.remaining[keep], memory=(out[keep], inn[keep]))
        left = replace(self, kept=self.remaining[keep])
        few = len(left.remaining) * (self.out + self.inn) <= HELD
        return replace(left, memory=left.all()) if few else left


def _sorted(draw: np.random.Generator, rows: int, n: int) -> Array:
    """Return rows of n sorted uniform numbers: a Poisson process's arrivals by its (n+1)th."""
    arrivals = np.cumsum(draw.standard_exponential((rows, n + 1)), axis=1)
    return arrivals[:, :-1] / arrivals[:, -1:]


def enough(draws: int, a: float) -> int:
    """Return the number of draws: as requested, and at least two beyond the quantile.

    The test is exact with any number of draws, and has more power with more. The number is
    limited because a tenth look decides at a/1024, and must not take hours.
    """
    return max(draws, math.ceil(2 / a))


def last_rejected(family: Family, exceeds: Exceeds, draws: Draws, a: float) -> int:
    """Return the most leaking step with p <= a; 0 if there is none.

    A draw that exceeds at a rejected step exceeds at all further steps. A draw that does not
    exceed at a step that is not rejected does not exceed at earlier steps. So after each step
    only the draws between remain. A few of the draws find the step at which to start.
    """

    def exceeding(step: int, some: Draws) -> Array:
        found = np.empty(len(some.remaining), dtype=bool)
        for places, out, inn in some.chunks():
            found[places] = exceeds(out, inn, family.parameter(step))
        return found

    def search(some: Draws, level: float, stride: int, high: int, first: list[int]) -> int:
        allowed = level * (len(some.remaining) + 1) - 1
        low, above = 0, 0
        while high - low > stride:
            middle = first.pop() if first else (low + high) // 2 // stride * stride
            if not low < middle < high:
                continue
            up = exceeding(middle, some)
            if above + up.sum() <= allowed:
                low, above, some = middle, above + int(up.sum()), some.only(~up)
            else:
                high, some = middle, some.only(up)
        return low

    every = draws.only(np.ones(draws.number, dtype=bool))
    few = every.only(every.remaining < math.ceil(5 / a))
    if exceeding(0, few).any() and exceeding(0, every).sum() > a * (draws.number + 1) - 1:
        return 0  # not even that nothing leaks: curves of next to no leak take the longest
    stride = max(1, family.steps // RESOLUTION)
    coarse = 64 * stride
    after = search(few, 4 * a, coarse, family.steps, []) + coarse
    before = search(few, a / 4, coarse, after, [])
    return search(every, a, stride, family.steps, [before, after])
