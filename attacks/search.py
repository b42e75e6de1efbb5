"""The search for thresholds that maximise a criterion, over thresholds and kinds of rules.

A rule says D' where ALL (`&`) or ANY (`|`) of k statistics exceed their thresholds, strictly.
Candidates are all distinct observed values, -inf (which switches a statistic off in `&`) and
+inf (which does in `|`).

Two ideas make the search fast:

- **An OR rule is an AND rule for the other answer**: it says D where all s_i <= t_i. So both
  kinds are a `_Conjunction`: trial x passes level l of statistic i iff depth[x, i] >= l, and at
  level 0 the statistic is switched off.
- **The error counts are one number**, fp * (inn + 1) + fn, and it is linear in the trials that
  pass. One cumulative sum of weights therefore gives both counts of every threshold, and one
  look into a table of the criterion gives the rule's value.

One statistic (a line) and two (a grid) are searched exactly. With more, coordinate ascent
starts from every best single and best pair, the others switched off, and moves one threshold
at a time to its exact best until none improves: never below the best pair, not always the best.

Ties go to the earlier kind, then to the earlier start (singles before pairs), then to the
lower level: the rule that leaves more statistics switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from dpaudit.attacks.statistics import AND, Kind
from dpaudit.errors import BadInput
from dpaudit.protocols import Criterion
from dpaudit.types import IN, OUT, Array

EXACT = "exact"
ASCENT = "coordinate ascent from the best pairs"

BLOCK = 2**20
"""Cells of a grid that are evaluated at once."""

LARGEST_TABLE = 2**25
"""Cells of the largest table of criterion values: 256 MB."""

Value: TypeAlias = Callable[[Array], Array]
"""The criterion's values, from coded error counts."""


@dataclass(frozen=True)
class BestRule:
    """The best rule: its kind, thresholds, value, and how it was searched."""

    kind: Kind
    thresholds: tuple[float, ...]
    value: float
    how: str


def search(values: Array, worlds: Array, kinds: Sequence[Kind], criterion: Criterion) -> BestRule:
    """The rule over the columns of `values` (trials, k) that maximises the criterion."""
    worlds = np.asarray(worlds)
    out, inn = both_worlds(worlds)
    if np.isnan(values).any():
        raise BadInput("thresholds cannot be chosen for scores that are NaN", "not-finite")

    columns = [_candidates(column) for column in np.asarray(values, dtype=float).T]
    sizes = [len(candidates) for candidates, _ in columns]
    rules = sum(a * b for a, b in combinations(sizes, 2)) or sizes[0]
    value_of = _tabulated(criterion, out, inn, len(kinds) * rules)
    best: BestRule | None = None
    for kind in kinds:
        conjunction = _Conjunction.of(kind, columns, worlds, out, inn)
        levels, value = _best(conjunction, value_of)
        if best is None or value > best.value:
            step = levels if kind == AND else -1 - levels
            thresholds = tuple(float(c[i]) for (c, _), i in zip(columns, step, strict=True))
            best = BestRule(kind, thresholds, value, EXACT if len(columns) <= 2 else ASCENT)
    if best is None:
        raise BadInput("a search needs at least one kind of rule", "none-given", option="kinds")
    return best


def both_worlds(worlds: Array) -> tuple[int, int]:
    """The numbers of trials out and in; rejects trials of a single world."""
    out, inn = int((worlds == OUT).sum()), int((worlds == IN).sum())
    if not (out and inn):
        message = f"a rule is chosen on trials of both worlds; there are {out} out, {inn} in"
        raise BadInput(message, "one-world", value=(out, inn))
    return out, inn


def _candidates(column: Array) -> tuple[Array, Array]:
    """The candidate thresholds in rising order, and each trial's place among them."""
    candidates, place = np.unique(np.append(column, [-np.inf, np.inf]), return_inverse=True)
    return candidates, place[:-2]


def _tabulated(criterion: Criterion, out: int, inn: int, lookups: int) -> Value:
    """The criterion as a function of coded counts; from a table where that is less work."""

    def direct(code: Array) -> Array:
        fp, fn = np.divmod(code, inn + 1)
        return criterion(fp, out, fn, inn)

    cells = (out + 1) * (inn + 1)
    if cells > min(lookups, LARGEST_TABLE):
        return direct
    table = np.empty(cells)
    for i in range(0, cells, BLOCK):
        table[i : i + BLOCK] = direct(np.arange(i, min(i + BLOCK, cells)))
    return table.take


@dataclass(frozen=True)
class _Conjunction:
    """One kind of rule, as the trials that pass a level of every statistic."""

    depth: Array  # (trials, k): the deepest level that the trial passes
    weight: Array  # (trials,): what a passing trial adds to the code
    base: int  # the code where no trial passes
    sizes: tuple[int, ...]  # levels per statistic

    @staticmethod
    def of(
        kind: Kind, columns: Sequence[tuple[Array, Array]], worlds: Array, out: int, inn: int
    ) -> _Conjunction:
        sizes = tuple(len(candidates) for candidates, _ in columns)
        place = np.stack([place for _, place in columns], axis=1)
        said_in = np.where(worlds == IN, -1, inn + 1)  # one fn fewer, or one fp more
        if kind == AND:
            # -inf exceeds no threshold, so it never passes; statistics do not take that value.
            alive = place.all(axis=1)
            return _Conjunction(place[alive] - 1, said_in[alive], inn, sizes)
        return _Conjunction(np.array(sizes) - 1 - place, -said_in, out * (inn + 1), sizes)


def _best(c: _Conjunction, value_of: Value) -> tuple[Array, float]:
    """The best levels of one kind, and their value."""
    k = len(c.sizes)
    if k == 1:
        levels, values = _singles(c, value_of)
    elif k == 2:
        levels, values = _pairs(c, value_of)
    else:
        starts = [_singles(c, value_of), _pairs(c, value_of)]
        levels = np.concatenate([levels for levels, _ in starts])
        values = np.concatenate([values for _, values in starts])
        _ascend(c, levels, values, value_of)
    first = int(values.argmax())
    return levels[first], float(values[first])


def _singles(c: _Conjunction, value_of: Value) -> tuple[Array, Array]:
    """The best level of each statistic with the others switched off."""
    k = len(c.sizes)
    levels, values = np.zeros((k, k), dtype=np.intp), np.empty(k)
    for i in range(k):
        best, value = _line(c, np.zeros((1, k), dtype=np.intp), i, value_of)
        levels[i, i], values[i] = best[0], value[0]
    return levels, values


def _pairs(c: _Conjunction, value_of: Value) -> tuple[Array, Array]:
    """The best levels of each pair of statistics with the others switched off."""
    pairs = list(combinations(range(len(c.sizes)), 2))
    levels, values = np.zeros((len(pairs), len(c.sizes)), dtype=np.intp), np.empty(len(pairs))
    for row, (a, b) in enumerate(pairs):
        levels[row, [a, b]], values[row] = _grid(c, a, b, value_of)
    return levels, values


def _ascend(c: _Conjunction, levels: Array, values: Array, value_of: Value) -> None:
    """Move one level at a time, in every row at once and in place, until none improves."""
    improving = True
    while improving:
        improving = False
        for i in range(len(c.sizes)):
            best, value = _line(c, levels, i, value_of)
            better = value > values
            levels[better, i], values[better] = best[better], value[better]
            improving |= bool(better.any())


def _line(c: _Conjunction, levels: Array, i: int, value_of: Value) -> tuple[Array, Array]:
    """The best level of statistic i, and its value, for every row of the others' levels."""
    rows, size = len(levels), c.sizes[i]
    weight = np.tile(c.weight, (rows, 1))
    for j in range(len(c.sizes)):
        if j != i:
            weight *= c.depth[:, j] >= levels[:, j, None]
    cell = np.arange(rows)[:, None] * size + c.depth[:, i]
    deep = _tally(cell.ravel(), weight.ravel(), (rows, size))
    values = value_of(c.base + deep[:, ::-1].cumsum(axis=1)[:, ::-1])
    best = values.argmax(axis=1)
    return best, values[np.arange(rows), best]


def _grid(c: _Conjunction, a: int, b: int, value_of: Value) -> tuple[tuple[int, int], float]:
    """The best levels of statistics a and b, and their value; from the deepest rows upwards."""
    rows, columns = c.sizes[a], c.sizes[b]
    height = max(1, BLOCK // columns)
    best, highest = (0, 0), -np.inf
    deeper = np.zeros(columns, dtype=np.intp)  # weights of trials that pass the whole block
    for stop in range(rows, 0, -height):
        start = max(0, stop - height)
        here = (start <= c.depth[:, a]) & (c.depth[:, a] < stop)
        cell = (c.depth[here, a] - start) * columns + c.depth[here, b]
        deep = _tally(cell, c.weight[here], (stop - start, columns))[::-1]
        deep[0] += deeper
        np.cumsum(deep, axis=0, out=deep)
        deeper = deep[-1].copy()
        values = value_of(c.base + deep[:, ::-1].cumsum(axis=1)[::-1, ::-1])
        first = int(values.argmax())
        row, column = divmod(first, columns)
        if values[row, column] >= highest:  # on a tie the block above wins: its level is lower
            best, highest = (start + row, column), float(values[row, column])
    return best, highest


def _tally(cell: Array, weight: Array, shape: tuple[int, int]) -> Array:
    """The summed weight of the trials in each cell; in integers, which add up faster."""
    return np.bincount(cell, weight, shape[0] * shape[1]).astype(np.intp).reshape(shape)
