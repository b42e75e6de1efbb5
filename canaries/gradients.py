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


def with_gradients(data: Data, name: str, made: str, given: Known) -> Pair:
    """The pair with the whole pool in both worlds, and gradients that only one of them has."""
    nothing = np.zeros(data.shape, np.float32)
    nobody = Canary(nothing, 0, name, made, kind="gradient")
    return replace(neighbours(data, nobody), given=given)


@dataclass(frozen=True, eq=False)
class Dirac(CanaryBuilder):
    """A gradient of the clip norm along one parameter, that which ordinary records move least.

    No record: an adversary that takes part in training may add any gradient. With many canaries,
    each has a parameter of its own.

    Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023).
    """

    gradient: ClassVar[bool] = True

    recipe: Recipe
    initial: Array
    canaries: int = 1

    def build(self, data: Data, seed: int) -> Pair:
        from dpaudit.training.gradients import parameter_movement

        some = generator(seed, "canary", "dirac").permutation(len(data.pool))[:LOOKED_AT]
        records = Records(data.pool.x[some], data.pool.y[some])
        quietest = np.argsort(parameter_movement(self.recipe, self.initial, records), kind="stable")
        chosen = quietest[: self.canaries]
        made = "a gradient along the parameter that ordinary records move least"
        if self.canaries > 1:
            made = (
                f"{self.canaries:,} gradients, each along a parameter of its own, those that "
                "ordinary records move least"
            )
        return with_gradients(data, "dirac", made, {"coordinates": chosen, "initial": self.initial})


@dataclass(frozen=True, eq=False)
class RandomDirection(CanaryBuilder):
    """A gradient of the clip norm along a direction drawn at random over all parameters.

    No record: an adversary that takes part in training may add any gradient. In many dimensions
    hardly any other gradient points the same way.

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
