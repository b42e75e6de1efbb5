"""A gradient along one parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpaudit.canaries.gradient import with_gradients
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Data, Pair, Records

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe

LOOKED_AT = 500
"""Records of the pool that the parameters are chosen by."""


@dataclass(frozen=True, eq=False)
class Dirac(CanaryBuilder):
    """A gradient of the clip norm along one parameter, that which ordinary records move least.

    No record: an adversary that takes part in training puts in whatever gradient it likes. Of
    many canaries each has a parameter of its own.

    Nasr et al., Tight Auditing of Differentially Private Machine Learning (2023).
    """

    gradient: ClassVar[bool] = True

    recipe: Recipe
    initial: Array
    canaries: int = 1

    def build(self, data: Data, seed: int) -> Pair:
        from dpaudit.training.gradients import moved

        some = generator(seed, "canary", "dirac").permutation(len(data.pool))[:LOOKED_AT]
        records = Records(data.pool.x[some], data.pool.y[some])
        quietest = np.argsort(moved(self.recipe, self.initial, records), kind="stable")
        chosen = quietest[: self.canaries]
        made = "a gradient along the parameter that ordinary records move least"
        if self.canaries > 1:
            made = (
                f"{self.canaries:,} gradients, each along a parameter of its own, those that "
                "ordinary records move least"
            )
        return with_gradients(data, "dirac", made, {"coordinates": chosen, "initial": self.initial})
