"""Two records that a mechanism keeps apart worst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Pair, neighbours


@dataclass(frozen=True, eq=False)
class Opposites(CanaryBuilder):
    """Two records that the mechanism keeps apart worst: D has the one, D' the other in its place.

    Neighbours by replacing one. Which two they are is the mechanism's to say; where it does not,
    D has an all-zero record and D' one that is bright where the other records are dark. The
    label is that of the pool's record whose place they take, in both.
    """

    opposites: Array | None = None

    def build(self, data: Data, seed: int) -> Pair:
        i = int(generator(seed, "canary", "opposites").integers(len(data.pool)))
        out, inn = _dark_and_bright(data) if self.opposites is None else self.opposites
        if out.shape != data.shape:
            raise BadInput(
                f"opposites of {out.shape} are no records of {data.shape}",
                "shape-mismatch",
                option="opposites",
                value=out.shape,
            )
        made = "one of the two records that the mechanism keeps apart worst; D has the other"
        if self.opposites is None:
            made = "a record that is bright where others are dark; D has an empty one in its place"
        canary = Canary(
            x=np.asarray(inn, dtype=np.float32),
            y=int(data.pool.y[i]),
            name="opposites",
            made=made,
            removed=i,
            original=np.asarray(out, dtype=np.float32),
            replaces=True,
        )
        return neighbours(data, canary)


def _dark_and_bright(data: Data) -> tuple[Array, Array]:
    """An empty record, and one with the values at 1 that are least in the shadow set's mean."""
    mean = data.shadow.x.mean(axis=0)
    return np.zeros(data.shape), (mean <= np.quantile(mean, 0.25)).astype(np.float64)
