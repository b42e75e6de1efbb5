"""Rows x with ||x||_2 <= 1 and labels y in {-1, 1}, and how records become such rows.

The proof of differentially private logistic regression stands on both. A longer row breaks it
silently, so it is refused, or shortened by something that does not depend on the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.types import Array, Records

SLACK = 1e-6
"""A norm above 1 by less is rounding, of single precision say, and is shortened to 1."""

LONGER = ("refuse", "clip", "normalise")


@dataclass(frozen=True)
class Rows:
    """Labelled rows of a norm of at most 1."""

    x: Array
    y: Array

    def __post_init__(self) -> None:
        x, y = np.asarray(self.x, np.float64), np.asarray(self.y, np.float64)
        if x.ndim != 2 or x.shape[1] < 1 or y.shape != (len(x),):
            problem = (
                f"rows are (records, features) with a label each, not {x.shape} with {y.shape}"
            )
            raise BadInput(problem, "shape-mismatch", option="rows", value=(x.shape, y.shape))
        if not np.isin(y, (-1, 1)).all():
            raise BadInput("labels must be -1 or 1", "out-of-range", option="labels")
        norms = np.linalg.norm(x, axis=1)
        if not np.isfinite(norms).all():
            raise BadInput("rows must be finite numbers", "not-finite", option="rows")
        if too_long := int((norms > 1 + SLACK).sum()):
            problem = (
                f"{too_long} of {len(x)} rows are longer than 1, the longest "
                f"{norms.max():.4g}; privacy holds only for rows of a norm of at most 1: divide "
                "all by a bound that is known without the data, or shorten those that are longer"
            )
            raise BadInput(problem, "too-long", option="rows", value=too_long)
        object.__setattr__(self, "x", clip_rows(x))
        object.__setattr__(self, "y", y)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """The number of features, d."""
        return int(self.x.shape[1])

    def accuracy(self, scores: Array) -> Array:
        """Return the share of rows whose label has the sign of the score; (..., rows) to (...)."""
        return np.asarray(np.mean(np.sign(scores) == self.y, axis=-1))

    def dealt(self, nodes: int) -> list[Rows]:
        """Deal rows, in their order, to a number of organisations, the same number to each."""
        size = len(self) // nodes if nodes > 0 else 0
        if size < 1:
            problem = f"there are too few records for {nodes} organisations; give them fewer"
            raise BadInput(problem, "too-few-records", option="organisations", value=nodes)
        starts = range(0, nodes * size, size)
        return [Rows(self.x[i : i + size], self.y[i : i + size]) for i in starts]


def clip_rows(x: Array, bound: float = 1.0) -> Array:
    """Shorten rows that are longer than a bound."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x * np.minimum(1.0, bound / np.where(norms > 0, norms, 1.0)))


def normalise_rows(x: Array) -> Array:
    """Divide every row by its own norm, which no other record changes; zeros stay zeros."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(x / np.where(norms > 0, norms, 1.0))


def with_intercept(x: Array) -> Array:
    """Append a 1 to rows and divide them by sqrt(2), so that their norm stays at most 1."""
    return np.asarray(np.column_stack([x, np.ones(len(x))]) / np.sqrt(2))


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
        """Return the rows of records; classes become -1 (even) and 1 (odd)."""
        x = self._first(records.x) / self.bound
        if self.rows == "clip":
            x = clip_rows(x)
        elif self.rows == "normalise":
            x = normalise_rows(x)
        try:
            return self._rows(x, records.y)
        except BadInput as error:
            advice = "(--set bound=BOUND, --set rows=clip or --set rows=normalise)"
            raise error.with_sentence(f"{error} {advice}") from error

    def crafted(self, x: Array, y: int) -> Rows:
        """Return rows that somebody has chosen, unscaled, all of one class."""
        return self._rows(self._first(x), np.full(len(x), y))

    def _first(self, x: Array) -> Array:
        flat = x.reshape(len(x), -1).astype(np.float64)
        there = flat.shape[1]
        wanted = there if self.features is None else self.features
        if wanted > there:
            problem = f"records have {there} features, not {wanted}; set fewer"
            raise BadInput(problem, "too-large", option="features", value=wanted)
        return flat[:, :wanted]

    def _rows(self, x: Array, y: Array) -> Rows:
        return Rows(with_intercept(x) if self.intercept else x, 2 * (y % 2) - 1)
