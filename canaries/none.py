"""No canary at all: the null."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.canaries.draw import draw
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Adjacency, Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Null(CanaryBuilder):
    """Nothing: D' is D, so that a valid audit certifies an epsilon of 0.

    The models are asked about a random record of the pool, which is in both worlds. This
    is the control of an audit: whatever an estimate shows here, selection made it. It is the
    null of any claim, whether that is for one record more or for one replaced.
    """

    adjacency: Adjacency = "add-remove"

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "none")
        canary = Canary(
            x=data.pool.x[i],
            y=int(data.pool.y[i]),
            name="none",
            made="both worlds are the same; the models are asked about a record of both",
            kind="nothing",
            replaces=self.adjacency == "replace",
        )
        return neighbours(data, canary)
