"""The record with the largest loss, with adversarial noise."""

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
class AdvMaxLoss(CanaryBuilder):
    """The record with the largest shadow loss, made harder still by adversarial noise.

    The clean record is in neither data set: D is the pool without it, D' is D with the
    noisy version. Noise: forty sign steps of 0.01 up the mean loss of ten shadow models,
    the label kept, without a norm constraint; `clip` keeps the pixels in [0, 1].

    Data set 4 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    recipe: Recipe
    clip: bool = False
    executor: Executor | None = None

    def build(self, data: Data, seed: int) -> Pair:
        models = shadows.train(self.recipe, data, seed, self.executor)
        i = shadows.hardest(models, data.pool)
        x, y = data.pool.x[i], int(data.pool.y[i])
        canary = Canary(
            x=shadows.perturb(models, x, y, self.clip),
            y=y,
            name="adv-maxloss",
            made=f"the record with the largest mean loss over {len(models)} shadow models, "
            "with adversarial noise from them",
            removed=i,
            original=x,
        )
        return neighbours(data, canary)
