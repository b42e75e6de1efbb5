"""Columns of text as numbers: scaled by stated bounds, or one feature a category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.types import Array


@dataclass(frozen=True)
class Interval:
    """What a number can be, by public knowledge; never taken from the data."""

    low: float
    high: float

    def scaled(self, numbers: Array) -> Array:
        """Numbers clipped to the interval, as their place in it: 0 to 1."""
        return (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)

    def drawn(self, count: int, draw: np.random.Generator) -> tuple[list[str], Array]:
        """Cells of random numbers, and the feature that each makes."""
        cells = [f"{x:.6g}" for x in draw.uniform(self.low, self.high, count)]
        numbers = np.array([float(cell) for cell in cells])
        return cells, self.scaled(numbers).astype(np.float32)[:, None]


@dataclass(frozen=True)
class Categories:
    """A column of `names`, and which of them each row has."""

    names: Sequence[str]
    codes: Array

    def one_hot(self) -> Array:
        """One feature a name: 1 for the rows that have it, else 0."""
        return np.eye(len(self.names), dtype=np.float32)[self.codes]

    def drawn(self, count: int, draw: np.random.Generator) -> tuple[list[str], Array]:
        """Cells of random categories, and the features that each makes."""
        codes = draw.integers(0, len(self.names), count)
        return [self.names[code] for code in codes], Categories(self.names, codes).one_hot()


def number(cell: str) -> float | None:
    """A cell's finite number; None for what is no such thing."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python's own 1_000 is nobody else's number.
    return value if math.isfinite(value) and "_" not in cell else None


def categories(cells: Sequence[str]) -> Categories:
    """The different cells in order: numbers by their value (so 1 is 1.0), others as text.

    An empty cell is a category too, the first.
    """
    different = sorted(set(cells))
    values = {cell: number(cell) if cell else -math.inf for cell in different}
    numeric = None not in values.values()
    keys = {cell: (values[cell] or 0.0, "") if numeric else (0.0, cell) for cell in different}
    names: dict[tuple[float, str], str] = {}
    for cell, key in keys.items():
        names.setdefault(key, cell)
    code = {key: i for i, key in enumerate(sorted(names))}
    codes = np.fromiter((code[keys[cell]] for cell in cells), np.int64, len(cells))
    return Categories([names[key] for key in sorted(names)], codes)


def measured(cells: Iterable[str], most: int) -> bool:
    """Whether a column looks like measurements: more than `most` numbers, few other values.

    A decimal comma counts, and so do a few marks like '?': these need mending, not a category
    for each number beside them.
    """
    different = {cell for cell in cells if cell}
    numbers = sum(number(cell.replace(",", ".")) is not None for cell in different)
    return numbers > most and 2 * numbers > len(different)


def parse_bounds(texts: Iterable[str]) -> tuple[dict[str, Interval], list[BadInput]]:
    """Intervals by column from texts COLUMN=LOW:HIGH, and what is wrong with the others."""
    intervals: dict[str, Interval] = {}
    problems: list[BadInput] = []
    for text in texts:
        column, _, ends = text.rpartition("=")
        low, high = (number(end.strip()) for end in (*ends.split(":"), "", "")[:2])
        if not column or ends.count(":") != 1 or low is None or high is None:
            said = f"bounds are COLUMN=LOW:HIGH, such as age=0:120, not {text!r}"
            problems.append(BadInput(said, "not-bounds", option="bounds", value=text))
        elif not low < high or math.isinf(high - low):
            said = f"bounds need LOW below HIGH, and not infinitely far, unlike {text!r}"
            problems.append(BadInput(said, "empty-interval", option="bounds", value=text))
        elif column.strip() in intervals:
            said = f"{column.strip()!r} has bounds twice; state them once"
            problems.append(BadInput(said, "stated-twice", option="bounds", value=column.strip()))
        else:
            intervals[column.strip()] = Interval(low, high)
    return intervals, problems
