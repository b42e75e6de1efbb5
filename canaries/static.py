"""A record of noise, as a screen without a signal shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.canaries.draw import draw
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Static(CanaryBuilder):
    """A record whose values are the least or the largest there can be by fair coins, any label.

    It takes the place of a random record: D is the pool without that, D' as large as the pool.
    It looks like no class, so that no other record teaches a model its label, and its gradient is
    large. A training that forgets to clip is swayed by it far more than one that clips, and one
    with too little noise cannot hide it. Needs no shadow models.

    The two values are the data's bounds, where these are declared (`Data.bounds`), and 0 and 1 for
    other data in [0, 1]: images, tables that are scaled by --bounds. Beyond [0, 1] the domain is
    unknown, and the values lie outside the pool's by its range: 0 and 30 for values from 10 to 20.
    So code that takes its clipping bounds from the data, which differ in D and D', is found out.
    Code that relies on a domain without clipping to it needs the domain declared. Whole numbers,
    such as tokens, stay within the pool's own.
    """

    def build(self, data: Data, seed: int) -> Pair:
        flip = generator(seed, "canary", "static")
        coins = flip.random(data.shape) < 0.5
        low, high = _ends(data)
        canary = Canary(
            x=np.where(coins, low, high),
            y=int(flip.integers(data.classes)),
            name="static",
            made=f"values of {float(low):g} and {float(high):g} at random under a random label",
            removed=draw(data, seed, "static"),
        )
        return neighbours(data, canary)


def _ends(data: Data) -> tuple[Array, Array]:
    """The two values, of the type that the pool has."""
    x = data.pool.x
    low, high = x.min(), x.max()
    if data.bounds is not None:
        low, high = data.bounds
    elif x.dtype.kind == "f" and low >= 0 and high <= 1:
        low, high = 0, 1
    elif x.dtype.kind == "f":
        limits = np.finfo(x.dtype)
        low, high = float(low), float(high)
        reach = high - low or 1.0
        low, high = np.clip([low - reach, high + reach], limits.min, limits.max)
    return x.dtype.type(low), x.dtype.type(high)
