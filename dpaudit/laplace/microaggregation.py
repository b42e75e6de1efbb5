"""AnonymizingFirst: groups of similar records, and the mean of each with Laplace noise.

The paper only cites methods for it (Soria-Comas et al. 2014; Sanchez et al. 2016). This one orders
records by a total order that no data decide, cuts it into groups of k and releases their means,
which are epsilon-DP together. That replaces the records; whatever is trained on them is
post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.types import Array


@dataclass(frozen=True)
class Groups:
    """n records in groups of k; the last has what is left, too.

    `width` is the most that two records differ in, all columns added up: as many as there are
    columns, of which those of one category, one-hot, count 2 together.
    """

    records: int
    k: int
    width: float

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.records:
            raise BadInput(
                f"groups of {self.k} cannot be made of {self.records} records",
                "out-of-range",
                option="k",
                value=self.k,
            )

    @property
    def number(self) -> int:
        """Of groups."""
        return self.records // self.k

    @property
    def sensitivity(self) -> float:
        """What all means together change by at most, in L1: (n/k) (m/k).

        A record that moves from one end of the order to the other shifts one record out of every
        group, and one into it.
        """
        return self.number * self.width / self.k

    def scale(self, epsilon: float) -> float:
        """b = n m/(k^2 epsilon), for the joint release of all means."""
        return self.sensitivity / epsilon

    def sizes(self) -> Array:
        """Of the groups, in their order."""
        return np.diff(self._ends())

    def means(self, rows: Array) -> Array:
        """Of each group the mean of its records."""
        ordered = rows[order(rows)]
        return np.asarray(np.add.reduceat(ordered, self._ends()[:-1]) / self.sizes()[:, None])

    def _ends(self) -> Array:
        return np.append(np.arange(self.number) * self.k, self.records)


def order(rows: Array) -> Array:
    """Records by their distance to the origin, and those equally far by their columns."""
    return np.lexsort((*rows.T[::-1], (rows**2).sum(axis=1)))


def rows_of(x: Array, y: Array, classes: int) -> Array:
    """Records as rows of numbers in [0, 1], with their class, one-hot, at the end."""
    return np.hstack([np.clip(x.reshape(len(x), -1), 0, 1), np.eye(classes)[y]]).astype(np.float64)


def records_of(means: Array, sizes: Array, classes: int) -> tuple[Array, Array]:
    """What is trained on: each mean as often as it has records, under its likeliest class."""
    x = np.clip(means[:, :-classes], 0, 1)
    y = means[:, -classes:].argmax(axis=1)
    return np.repeat(x, sizes, axis=0), np.repeat(y, sizes)
