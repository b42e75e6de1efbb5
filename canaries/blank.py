"""An empty image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.seeds import generator
from dpaudit.types import Canary, Data, Pair, neighbours


@dataclass(frozen=True)
class Blank:
    """An all-zero record under a random label, added to the whole pool.

    It looks like nobody's data, so what a model says about it is the canary's own doing.
    """

    def build(self, data: Data, seed: int) -> Pair:
        canary = Canary(
            x=np.zeros(data.shape, dtype=np.float32),
            y=int(generator(seed, "canary", "blank").integers(data.classes)),
            name="blank",
            made="an all-zero record under a random label",
        )
        return neighbours(data, canary)
