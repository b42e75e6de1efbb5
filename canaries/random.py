"""A random record."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.canaries.draw import draw
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Random(CanaryBuilder):
    """A random record of the pool, as it is.

    D is the pool without it, D' the whole pool. The weakest canary: what an average person
    in the data has to fear.

    Data set 1 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "random")
        canary = Canary(
            x=data.pool.x[i],
            y=int(data.pool.y[i]),
            name="random",
            made="a random record of the pool",
            removed=i,
        )
        return neighbours(data, canary)
