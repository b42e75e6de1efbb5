"""A record of noise, as a screen without a signal shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.canaries.draw import draw
from dpaudit.seeds import generator
from dpaudit.types import Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Static:
    """A record whose values are the pool's smallest or largest by fair coins, under a random label.

    It takes the place of a random record: D is the pool without that, D' as large as the pool.
    It looks like no class, so that no other record teaches a model its label, and its gradient is
    large. A training that forgets to clip is swayed by it far more than one that clips, and one
    with too little noise cannot hide it. Needs no shadow models.
    """

    def build(self, data: Data, seed: int) -> Pair:
        flip = generator(seed, "canary", "static")
        coins = flip.random(data.shape) < 0.5
        low, high = data.pool.x.min(), data.pool.x.max()
        canary = Canary(
            x=np.where(coins, low, high).astype(np.float32),
            y=int(flip.integers(data.classes)),
            name="static",
            made="smallest and largest values at random under a random label",
            removed=draw(data, seed, "static"),
        )
        return neighbours(data, canary)
