"""A random record with adversarial noise."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.canaries import shadows
from dpaudit.canaries.draw import draw
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Canary, Data, Pair, neighbours

if TYPE_CHECKING:
    from dpaudit.training.recipe import Recipe


@dataclass(frozen=True)
class AdvRandom(CanaryBuilder):
    """A random record with adversarial noise against ten shadow models.

    D is the pool without the record, D' has its noisy version. It is never the
    record of `random`. Noise: forty sign steps of 0.01 up the mean shadow loss, the
    label kept, without a norm constraint; `clip` keeps the pixels in [0, 1].

    Data set 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    recipe: Recipe
    clip: bool = False
    executor: Executor | None = None

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "adv-random")
        models = shadows.train(self.recipe, data, seed, self.executor)
        x, y = data.pool.x[i], int(data.pool.y[i])
        canary = Canary(
            x=shadows.perturb(models, x, y, self.clip),
            y=y,
            name="adv-random",
            made=f"a random record with adversarial noise from {len(models)} shadow models",
            removed=i,
            original=x,
        )
        return neighbours(data, canary)
