"""The Adult data as the paper has them: 45,222 complete rows of 14 attributes, in ten folds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dpaudit.data.csv_text import Interval, categories, read
from dpaudit.errors import BadInput
from dpaudit.seeds import generator
from dpaudit.types import Array

ROWS, POSITIVE = 45_222, 11_208
"""That are complete, and of these the ones that earn more than 50K; the data set's known counts."""

NUMBERS = {
    "age": Interval(17, 90),
    "fnlwgt": Interval(0, 1_500_000),
    "education_num": Interval(1, 16),
    "hours_per_week": Interval(1, 99),
}
"""With bounds that are public knowledge: none is looked up in the rows."""

AMOUNTS = {"capital_gain": 100_000, "capital_loss": 5_000}
"""In dollars, of which most people have none; scaled by their logarithm."""

LABEL, UNUSED = "income", "split"


def found(folder: str | None = None) -> Path:
    """The file, in a folder or in the one that DPAUDIT_DATA names."""
    file = Path(folder or os.environ.get("DPAUDIT_DATA", ".")) / "adult.csv.gz"
    if not file.is_file():
        raise BadInput(
            f"there is no {file}; set DPAUDIT_DATA to the folder that has it",
            "file-missing",
            value=str(file),
        )
    return file


def load(folder: str | None = None) -> tuple[Array, Array, float]:
    """Records in [0, 1], their classes, and the most that two of them differ in, in L1.

    The columns of one category, one-hot, differ in 2 at most.
    """
    file = found(folder)
    cells = read(file)
    whole = [row for row in cells.rows if all(row)]
    columns = {name: [row[i] for row in whole] for i, name in enumerate(cells.header)}
    y = np.array([cell.startswith(">50K") for cell in columns.pop(LABEL)]).astype(np.int64)
    del columns[UNUSED]
    if (len(y), int(y.sum()), len(columns)) != (ROWS, POSITIVE, 14):
        raise BadInput(
            f"{file} has {len(y)} complete rows, {int(y.sum())} above 50K; not Adult",
            "other-data",
            value=(len(y), int(y.sum())),
        )
    parts, width = [], 0.0
    for name, texts in columns.items():
        if name in NUMBERS or name in AMOUNTS:
            numbers = np.array([float(text) for text in texts])
            amount = AMOUNTS.get(name)
            scaled = (
                NUMBERS[name].scaled(numbers)
                if amount is None
                else np.log1p(np.minimum(numbers, amount)) / np.log1p(amount)
            )
            parts.append(scaled[:, None])
            width += 1
        else:
            parts.append(categories(texts).one_hot())
            width += 2
    return np.hstack(parts).astype(np.float64), y, width + 2


def folds(y: Array, number: int = 10, seed: int = 0) -> Iterator[tuple[Array, Array]]:
    """Rows to train on and rows to test on, ten times; each class in every fold alike."""
    draw = generator(seed, "adult", "folds")
    fold = np.empty(len(y), dtype=np.int64)
    for label in np.unique(y):
        rows = draw.permutation(np.flatnonzero(y == label))
        fold[rows] = np.arange(len(rows)) % number
    for i in range(number):
        yield np.flatnonzero(fold != i), np.flatnonzero(fold == i)
