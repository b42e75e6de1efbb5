"""A gradient along a random direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpaudit.canaries.gradient import with_gradients
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Data, Pair

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe


@dataclass(frozen=True, eq=False)
class RandomDirection(CanaryBuilder):
    """A gradient of the clip norm along a direction drawn at random over all parameters.

    No record: an adversary that takes part in training puts in whatever gradient it likes. In
    many dimensions hardly any other gradient points the same way.

    Andrew et al., One-shot Empirical Privacy Estimation for Federated Learning (2023).
    """

    gradient: ClassVar[bool] = True

    recipe: Recipe
    initial: Array
    canaries: int = 1

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "random-direction")
        drawn = draw.normal(size=(self.canaries, len(self.initial)))
        directions = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        made = "a gradient along a random direction"
        if self.canaries > 1:
            made = f"{self.canaries:,} gradients, each along a random direction of its own"
        given = {"directions": directions.astype(np.float32), "initial": self.initial}
        return with_gradients(data, "random-direction", made, given)
