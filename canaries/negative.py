"""A record that turns into its negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Negative(CanaryBuilder):
    """A record of the pool that is its negative in D', under another label; replaces one.

    Each of its values is moved to the far end of [0, 1]: 1 where it was below one half, and 0 where
    it was not. Of a dark picture that is a bright one, which no network expects: it moves many
    parameters at once, and means by as much as one record can.
    """

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "opposite")
        i = int(draw.integers(len(data.pool)))
        x, label = data.pool.x[i], int(data.pool.y[i])
        other = (label + int(draw.integers(1, data.classes))) % data.classes
        canary = Canary(
            x=(x < 0.5).astype(np.float32),
            y=other,
            name="negative",
            made=f"a record of the pool with the label {label}, which is its negative in D'",
            removed=i,
            original=x,
            replaces=True,
        )
        return neighbours(data, canary)
