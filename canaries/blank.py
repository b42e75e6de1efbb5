"""An empty image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Pair, neighbours

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Blank(CanaryBuilder):
    """An all-zero record, added to the whole pool.

    It looks like nobody's data, so what a model says about it is the canary's own doing. Its
    label is random or, where the adversary knows the initial parameters, the one that they
    find least likely: its gradient is then a large one, which clipping cuts to the whole norm.

    Annamalai and De Cristofaro, Nearly Tight Black-Box Auditing of Differentially Private Machine
    Learning (2024).
    """

    recipe: Recipe | None = None
    initial: Array | None = None

    def build(self, data: Data, seed: int) -> Pair:
        x = np.zeros(data.shape, dtype=np.float32)
        label, how = self._label(x, data, seed)
        canary = Canary(x, label, name="blank", made=f"an all-zero record under {how}")
        pair = neighbours(data, canary)
        return pair if self.initial is None else replace(pair, given={"initial": self.initial})

    def _label(self, x: Array, data: Data, seed: int) -> tuple[int, str]:
        if self.recipe is None or self.initial is None:
            drawn = generator(seed, "canary", "blank").integers(data.classes)
            return int(drawn), "a random label"
        from dpaudit.training.predict import logits
        from dpaudit.training.pretraining import network

        said = logits(network(self.recipe, self.initial), x[None])[0]
        return int(said.argmin()), "the label that the initial parameters find least likely"
