"""What the paper's experiments learn from: points on a sphere, and two medical tables.

How the tables were scaled, by what they were split and how many organisations there were is not
said in the paper. Here rows are scaled by what is known without the data.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpaudit import checks
from dpaudit.ensemble.rows import Rows, normalised, with_intercept
from dpaudit.errors import BadInput
from dpaudit.seeds import generator
from dpaudit.types import Array

BLOCK = 20_000
"""Points that are drawn at a time."""

PIMA = {
    "pregnant": 20,
    "glucose": 300,
    "pressure": 150,
    "triceps": 100,
    "insulin": 1000,
    "mass": 80,
    "pedigree": 3,
    "age": 100,
}
"""Of each column a bound that is known without the data; all of them begin at 0."""


@dataclass(frozen=True)
class Split:
    """What organisations learn from, and the one test set that all are asked about."""

    train: Rows
    test: Rows

    def with_intercept(self) -> Split:
        """The same with a feature that is always 1."""
        return Split(*(Rows(with_intercept(r.x), r.y) for r in (self.train, self.test)))


def points(draw: np.random.Generator, number: int, d: int, offset: float) -> tuple[Array, Array]:
    """Uniform on the unit sphere; the label is 1 where the first coordinate is above the offset."""
    x = normalised(draw.standard_normal((number, d)))
    return x, np.where(x[:, 0] > offset, 1, -1)


def sphere(
    seed: int, train: int = 5000, test: int = 1000, d: int = 10, offset: float = 0.0
) -> Split:
    """Linearly separable points on the unit sphere in R^d; half of the test set of either class.

    With an `offset` the training set is not balanced: above .6 there are 2.5 % of points.
    """
    checks.refuse([checks.in_range("offset", offset, -0.9, 0.9)])
    draw = generator(seed, "ensemble", "sphere")
    x, y = points(draw, train, d, offset)
    found: dict[int, list[Array]] = {1: [], -1: []}
    while any(sum(map(len, found[label])) < test // 2 for label in found):
        more, labels = points(draw, BLOCK, d, offset)
        for label in found:
            found[label].append(more[labels == label])
    halves = [np.concatenate(found[label])[: test // 2] for label in found]
    asked = Rows(np.concatenate(halves), np.repeat(list(found), test // 2))
    return Split(Rows(x, y), asked)


def breast_cancer(seed: int, train: int = 400) -> Split:
    """Breast Cancer Wisconsin (Diagnostic), 569 records of 30 features; rows divided by their norm.

    The label is 1 where the tumour is benign. It comes with scikit-learn.
    """
    # Here, because scikit-learn takes a second to import.
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return _split(Rows(normalised(x), 2 * y - 1), train, seed)


def pima(path: Path, seed: int, train: int = 600) -> Split:
    """Pima Indians Diabetes, 768 records of 8 features, each put into [0, 1/sqrt(8)].

    By public bounds. Read from a .csv or .csv.gz with a header and the label in `diabetes`. (What
    scikit-learn has as `load_diabetes` is another set, for regression.)
    """
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            table = list(csv.DictReader(file))
        x = np.array([[float(row[name]) for name in PIMA] for row in table])
        y = np.array([2 * int(row["diabetes"]) - 1 for row in table])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise BadInput(f"{path} is not the table of Pima Indians Diabetes: {error}") from error
    unit = np.clip(x / np.array(list(PIMA.values())), 0, 1)
    return _split(Rows(unit / np.sqrt(len(PIMA)), y), train, seed)


def _split(rows: Rows, train: int, seed: int) -> Split:
    order = generator(seed, "ensemble", "split").permutation(len(rows))
    parts = (order[:train], order[train:])
    return Split(*(Rows(rows.x[part], rows.y[part]) for part in parts))
