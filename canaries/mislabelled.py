"""A random record with a wrong label."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.canaries.draw import draw
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Mislabelled(CanaryBuilder):
    """A random record of the pool under a random wrong label.

    D is the pool without the record, D' has it mislabelled. Needs no shadow models, and no
    other record teaches a model the wrong label.
    """

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "mislabelled")
        right = int(data.pool.y[i])
        wrong = 1 + int(generator(seed, "canary", "wrong label").integers(data.classes - 1))
        canary = Canary(
            x=data.pool.x[i],
            y=(right + wrong) % data.classes,
            name="mislabelled",
            made=f"a random record of the pool (class {right}) under a wrong label",
            removed=i,
        )
        return neighbours(data, canary)
