"""A record whose label is another one in D'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Pair, neighbours


@dataclass(frozen=True, eq=False)
class Replaced(CanaryBuilder):
    """A record of the pool that has another label in D'; neighbours by replacing one.

    For claims that hold if one record, or what one user has, is replaced. Which label takes the
    place of which is what the mechanism keeps apart worst, where it says so; else chance decides.
    """

    told_apart: Array | None = None
    """The two labels, of D and of D'."""

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "replaced")
        labels = self.told_apart
        if labels is None:
            labels = draw.choice(data.classes, 2, replace=False)
        label, other = (int(y) for y in labels)
        having = np.flatnonzero(data.pool.y == label)
        if not len(having):
            raise BadInput(
                f"no record of the pool has the label {label}; take other data",
                "label-missing",
                value=label,
            )
        i = int(draw.choice(having))
        canary = Canary(
            x=data.pool.x[i],
            y=other,
            name="replaced",
            made=f"a record of the pool, which has the label {label} in D and another in D'",
            removed=i,
            replaces=True,
        )
        return neighbours(data, canary)
