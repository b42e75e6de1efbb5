"""The canary that moves a network most, and the rows of either world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.papers.laplace.network import rows
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import IN, Array, Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Negative(CanaryBuilder):
    """A record that is replaced in D' by its negative under another label.

    Each value is moved to the far end of [0, 1]: 1 if it was below one half, else 0. The negative
    of a dark image is bright, which no network expects. It moves many parameters at once, and means
    by as much as one record can.
    """

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "opposite")
        i = int(draw.integers(len(data.pool)))
        x, label = data.pool.x[i], int(data.pool.y[i])
        canary = Canary(
            x=(x < 0.5).astype(np.float32),
            y=(label + int(draw.integers(1, data.classes))) % data.classes,
            name="negative",
            made=f"a record of the pool with the label {label}, which is its negative in D'",
            removed=i,
            original=x,
            replaces=True,
        )
        return neighbours(data, canary)


def canary_place(pair: Pair) -> int | None:
    """Return the row in which the worlds differ; None if they do not."""
    c = pair.canary
    return c.removed if c.inserted and c.replaces else None


def world_rows(pair: Pair, world: int) -> tuple[Array, Array]:
    """Return the records of a world as rows, and their classes.

    The canary takes the place of the record that it replaces: both worlds have the same batches.
    """
    x, y, place = rows(pair.out), pair.out.y, canary_place(pair)
    if world == IN and place is not None:
        y = y.copy()
        x[place], y[place] = pair.canary.x.reshape(-1), pair.canary.y
    return np.clip(x, 0, 1), y
