"""What the paper's experiments learn from: points on a sphere, and medical tables.

How tables were scaled, how they were split and how many organisations there were is not said in
the paper. Here rows are scaled by what is known without the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.data.builtin import points
from dpaudit.papers.ensemble.unit_rows import Rows, normalise_rows, with_intercept
from dpaudit.seeds import generator
from dpaudit.types import Array

BLOCK = 20_000
"""Points that are drawn at a time."""


@dataclass(frozen=True)
class Split:
    """What organisations learn from, and the one test set that all are asked about."""

    train: Rows
    test: Rows

    def with_intercept(self) -> Split:
        """The same with a feature that is always 1."""
        return Split(*(Rows(with_intercept(r.x), r.y) for r in (self.train, self.test)))


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
    return shuffled(Rows(normalise_rows(x), 2 * y - 1), train, seed)


def shuffled(rows: Rows, train: int, seed: int) -> Split:
    """So many rows to learn from, and all others to be asked about."""
    order = generator(seed, "ensemble", "split").permutation(len(rows))
    parts = (order[:train], order[train:])
    return Split(*(Rows(rows.x[part], rows.y[part]) for part in parts))
