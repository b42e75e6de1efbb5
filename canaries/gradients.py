"""Canaries that are gradients: both worlds have the same records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Known, Pair, Records, neighbours

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe

LOOKED_AT = 500
"""The number of pool records by which the parameters are chosen."""


@dataclass(frozen=True, eq=False)
class GradientCanary(CanaryBuilder):
    """A builder of gradients that only one of the worlds has; both have the whole pool."""

    gradient: ClassVar[bool] = True

    recipe: Recipe
    initial: Array
    canaries: int = 1

    def pair(self, data: Data, name: str, made: str, chosen: Known) -> Pair:
        """Return the pair with these gradients, which start from the initial parameters."""
        canary = Canary(np.zeros(data.shape, np.float32), 0, name, made, kind="gradient")
        return replace(neighbours(data, canary), given={**chosen, "initial": self.initial})


@dataclass(frozen=True, eq=False)
class Dirac(GradientCanary):
    """A gradient of the clip norm along the parameter that ordinary records move least.

    This is not a record: an adversary that takes part in training may add any gradient. With many
    canaries, each has its own parameter.

    Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023).
    """

    def build(self, data: Data, seed: int) -> Pair:
        from dpaudit.training.gradients import parameter_movement

        some = generator(seed, "canary", "dirac").permutation(len(data.pool))[:LOOKED_AT]
        records = Records(data.pool.x[some], data.pool.y[some])
        quietest = np.argsort(parameter_movement(self.recipe, self.initial, records), kind="stable")
        chosen = quietest[: self.canaries]
        made, which = "a gradient along the parameter that", "ordinary records move least"
        if self.canaries > 1:
            made = f"{self.canaries:,} gradients, each along a parameter of its own, those that"
        return self.pair(data, "dirac", f"{made} {which}", {"coordinates": chosen})


@dataclass(frozen=True, eq=False)
class RandomDirection(GradientCanary):
    """A gradient of the clip norm along a random direction over all parameters.

    This is not a record: an adversary that takes part in training may add any gradient. In many
    dimensions hardly any other gradient points the same way.

    Andrew et al., One-shot Empirical Privacy Estimation for Federated Learning (2023).
    """

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "random-direction")
        drawn = draw.normal(size=(self.canaries, len(self.initial)))
        directions = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        made = "a gradient along a random direction"
        if self.canaries > 1:
            made = f"{self.canaries:,} gradients, each along a random direction of its own"
        return self.pair(
            data, "random-direction", made, {"directions": directions.astype(np.float32)}
        )
