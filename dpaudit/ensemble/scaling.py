"""How records become rows of a norm of at most 1, by what is known without the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.ensemble.rows import Rows, clipped, normalised, with_intercept
from dpaudit.errors import BadInput
from dpaudit.types import Array, Records

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
