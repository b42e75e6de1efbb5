"""What is learned from: rows x with ||x||_2 <= 1 and labels y in {-1, 1}.

The proof of differentially private logistic regression stands on both. A longer row breaks it
silently, so that one is refused; or it is shortened, by something that does not depend on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.types import Array, Records

# ----------------------------------------------------------------
# What is learned from: rows x with ||x||_2 <= 1 and labels y in {-1, 1}.
#
# The proof of differentially private logistic regression stands on both. A longer row breaks it
# silently, so that one is refused; or it is shortened, by something that does not depend on the dat


SLACK = 1e-6
"""A norm above 1 by less is rounding, of single precision say, and is shortened to 1."""


@dataclass(frozen=True)
class Rows:
    """Labelled rows, found to be no longer than 1."""

    x: Array
    y: Array

    def __post_init__(self) -> None:
        x, y = np.asarray(self.x, np.float64), np.asarray(self.y, np.float64)
        if x.ndim != 2 or x.shape[1] < 1 or y.shape != (len(x),):
            raise BadInput(
                f"rows are (records, features) with a label each, not {x.shape} with {y.shape}",
                "shape-mismatch",
                option="rows",
                value=(x.shape, y.shape),
            )
        if not np.isin(y, (-1, 1)).all():
            raise BadInput("labels must be -1 or 1", "out-of-range", option="labels")
        norms = np.linalg.norm(x, axis=1)
        if not np.isfinite(norms).all():
            raise BadInput("rows must be finite numbers", "not-finite", option="rows")
        if (too_long := norms > 1 + SLACK).any():
            raise BadInput(
                f"{too_long.sum()} of {len(x)} rows are longer than 1, the longest "
                f"{norms.max():.4g}; privacy holds only for rows of a norm of at most 1: divide "
                "all by a bound that is known without the data, or shorten those that are longer",
                "too-long",
                option="rows",
                value=int(too_long.sum()),
            )
        object.__setattr__(self, "x", clipped(x))
        object.__setattr__(self, "y", y)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """How many there are, d."""
        return int(self.x.shape[1])

    def accuracy(self, scores: Array) -> Array:
        """The share of rows whose label has the sign of the score; (..., rows) to (...)."""
        return np.asarray(np.mean(np.sign(scores) == self.y, axis=-1))

    def dealt(self, nodes: int) -> list[Rows]:
        """As many to each of so many organisations, in their order; the rest to none."""
        size = len(self) // nodes
        return [Rows(self.x[i : i + size], self.y[i : i + size]) for i in _starts(nodes, size)]


def clipped(x: Array, bound: float = 1.0) -> Array:
    """Rows that are longer than a bound, shortened to it; the others as they are."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x * np.minimum(1.0, bound / np.where(norms > 0, norms, 1.0)))


def normalised(x: Array) -> Array:
    """Every row divided by its own norm, which no other record has a part in; zeros stay zeros."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1.0))


def with_intercept(x: Array) -> Array:
    """Rows with a 1 at their end, all divided by sqrt(2), so that their norm stays at most 1."""
    return np.asarray(np.column_stack([x, np.ones(len(x))]) / np.sqrt(2))


def _starts(nodes: int, size: int) -> range:
    if nodes < 1 or size < 1:
        raise BadInput(
            f"there are too few records for {nodes} organisations; give them fewer",
            "too-few-records",
            option="organisations",
            value=nodes,
        )
    return range(0, nodes * size, size)


# ----------------------------------------------------------------
# How records become rows of a norm of at most 1, by what is known without the data.


LONGER = ("refuse", "clip", "normalise")


@dataclass(frozen=True)
class Scaling:
    """Records of any shape to rows: the first features, divided by a public bound.

    What is longer than 1 then is refused, or clipped; or all are divided by their own norm.
    """

    rows: str = "refuse"
    bound: float = 1.0
    features: int | None = None
    intercept: bool = False

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.one_of("rows", self.rows, LONGER),
                checks.positive("bound", self.bound),
                None if self.features is None else checks.at_least("features", self.features, 1),
            ]
        )

    def of(self, records: Records) -> Rows:
        """The rows of records; classes become -1 (even) and 1 (odd)."""
        x = self._first(records.x.reshape(len(records), -1).astype(np.float64)) / self.bound
        if self.rows == "clip":
            x = clipped(x)
        elif self.rows == "normalise":
            x = normalised(x)
        try:
            return Rows(self._whole(x), 2 * (records.y % 2) - 1)
        except BadInput as error:
            raise BadInput(
                f"{error} (--set bound=BOUND, --set rows=clip or --set rows=normalise)",
                error.code,
                option=error.option,
                value=error.value,
            ) from error

    def crafted(self, rows: Array, y: int) -> Rows:
        """Rows that somebody has chosen, no record's: they are taken as they are."""
        x = self._first(rows.reshape(len(rows), -1).astype(np.float64))
        return Rows(self._whole(x), np.full(len(x), 2 * (y % 2) - 1))

    def _first(self, x: Array) -> Array:
        wanted = x.shape[1] if self.features is None else self.features
        if wanted > x.shape[1]:
            raise BadInput(
                f"records have {x.shape[1]} features, not {wanted}; set fewer",
                "too-large",
                option="features",
                value=wanted,
            )
        return x[:, :wanted]

    def _whole(self, x: Array) -> Array:
        return with_intercept(x) if self.intercept else x
