"""The record with the largest loss."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.canaries import shadows
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Canary, Data, Pair, neighbours

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe


@dataclass(frozen=True)
class MaxLoss(CanaryBuilder):
    """The record of the pool with the largest mean loss over ten shadow models.

    D is the pool without it, D' the whole pool. Such a record has the largest gradients, so
    a model that saw it differs most from one that did not.

    Data set 3 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    recipe: Recipe
    executor: Executor | None = None

    def build(self, data: Data, seed: int) -> Pair:
        models = shadows.train(self.recipe, data, seed, self.executor)
        i = shadows.hardest(models, data.pool)
        canary = Canary(
            x=data.pool.x[i],
            y=int(data.pool.y[i]),
            name="maxloss",
            made=f"the record with the largest mean loss over {len(models)} shadow models",
            removed=i,
        )
        return neighbours(data, canary)
