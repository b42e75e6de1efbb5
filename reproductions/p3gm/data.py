"""The paper's data sets, as far as they are at hand: values from 0 to 1 by bounds that are public.

Bounds that were taken from the data would leak, so that they are stated here. What a subset means
for a comparison with the paper stands beside its name.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from dpaudit.types import Array, Records


@dataclass(frozen=True)
class Table:
    """Records, and what is known of them beforehand.

    Records of one of the `groups` must not be split. Values centre at 0 where most are, at 0.5
    where they had been scaled to be around 0 by those who published them: then all are in a
    small part of [0, 1], and a narrow likelihood fits. Each of `categories` is a column's range:
    one of its values is 1, the others 0; other values are numbers, or a picture's. Where this is
    a subset, the paper's is of so many records as were `published`.
    """

    records: Records
    classes: int
    groups: Array | None = None
    centre: float = 0.0
    categories: Sequence[slice] = ()
    picture: bool = False
    published: int | None = None

    @property
    def likelihood(self) -> str:
        """By name, as generators have it."""
        return "narrow" if self.centre else "bernoulli"

    @property
    def numbers(self) -> Array:
        """Which values are numbers."""
        found = np.full(self.records.x.shape[1], not self.picture)
        for own in self.categories:
            found[own] = False
        return found


NOTES = {
    "digits": "embedded; not among the paper's",
    "adult": "all 45,222 complete rows",
    "isolet": "all 7,797 rows; vowels are positive",
    "esr": "all 11,500 rows; folds keep recordings whole, which the paper's may not",
    "credit": "9,643 of 284,807 rows with all 492 frauds: 5.1 % positive where the paper has 0.2 %",
    "mnist": "10,000 + 2,000 of 70,000 images: noise is that of so many records",
    "fashion-mnist": "10,000 + 2,000 of 70,000 images: noise is that of so many records",
}

ADULT = {
    "age": (0, 100),
    "fnlwgt": (0, 1_500_000),
    "education_num": (1, 16),
    "capital_gain": (0, 100_000),
    "capital_loss": (0, 5_000),
    "hours_per_week": (0, 100),
}
"""Bounds of Adult's numbers; its other columns have known categories."""


def load(name: str) -> Table:
    """A data set by name."""
    return LOADERS[name]()


def thinned(table: Table, scale: float, draw: np.random.Generator) -> Table:
    """A random share of it."""
    n = len(table.records)
    kept = np.sort(draw.permutation(n)[: max(60, round(scale * n))])
    records = Records(table.records.x[kept], table.records.y[kept])
    groups = None if table.groups is None else table.groups[kept]
    return replace(table, records=records, groups=groups)


def _file(name: str) -> Path:
    path = Path(os.environ.get("DPAUDIT_DATA", ".")) / name
    if not path.exists():
        raise click.UsageError(f"there is no {path}; set DPAUDIT_DATA to the folder that has it")
    return path


def _table(x: Array, y: Array, classes: int = 2, **known: Any) -> Table:
    inside = np.clip(x, 0, 1).astype(np.float32)
    return Table(Records(inside, np.asarray(y, dtype=np.int64)), classes, **known)


def _rows(name: str) -> list[dict[str, str]]:
    with gzip.open(_file(name), "rt", newline="") as file:
        return list(csv.DictReader(file))


def _digits() -> Table:
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return _table(x / 16, y, 10, picture=True)


def _adult() -> Table:
    rows = [row for row in _rows("adult.csv.gz") if all(row.values())]
    columns, categories, width = [], [], 0
    for name in rows[0]:
        if name in ("income", "split"):
            continue
        values = [row[name] for row in rows]
        if name in ADULT:
            low, high = ADULT[name]
            columns.append(((np.array(values, dtype=float) - low) / (high - low))[:, None])
        else:
            kinds = sorted(set(values))
            columns.append(np.array([[v == kind for kind in kinds] for v in values], dtype=float))
            categories.append(slice(width, width + len(kinds)))
        width += columns[-1].shape[1]
    rich = [row["income"] == ">50K" for row in rows]
    return _table(np.concatenate(columns, axis=1), rich, categories=categories)


def _credit() -> Table:
    rows = _rows("creditcard_subset.csv.gz")
    v = np.array([[float(row[f"V{i}"]) for i in range(1, 29)] for row in rows])
    amount = np.log1p([float(row["Amount"]) for row in rows]) / np.log1p(30_000)
    x = np.concatenate([(v + 10) / 20, amount[:, None]], axis=1)
    return _table(x, [row["Class"] in ("1", "'1'") for row in rows], centre=0.5, published=284_807)


def _isolet() -> Table:
    with np.load(_file("isolet.npz")) as file:
        vowels = np.isin(file["y"], [ord(letter) - ord("a") + 1 for letter in "aeiou"])
        return _table((file["x_e4"] / 1e4 + 1) / 2, vowels, centre=0.5)


def _esr() -> Table:
    with np.load(_file("esr.npz")) as file:
        return _table(file["x"] / 1000 + 0.5, file["y"] == 1, groups=file["recording"], centre=0.5)


def _images(name: str) -> Table:
    with np.load(_file(name)) as file:
        x = np.concatenate([file["x_train"], file["x_test"]])
        y = np.concatenate([file["y_train"], file["y_test"]])
    return _table(x.reshape(len(x), -1) / 255, y, 10, picture=True, published=70_000)


LOADERS: dict[str, Callable[[], Table]] = {
    "digits": _digits,
    "mnist": lambda: _images("mnist_12k.npz"),
    "fashion-mnist": lambda: _images("fashion_mnist_12k.npz"),
    "credit": _credit,
    "adult": _adult,
    "esr": _esr,
    "isolet": _isolet,
}
