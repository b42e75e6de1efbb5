"""What an adversary sees of one model in the making, by what it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.config.adversaries import FINAL_WEIGHTS, OBSERVER, PER_STEP, WHITE_BOX, Adversary
from dpaudit.errors import BadInput
from dpaudit.mechanisms.classifier import accuracy, observed
from dpaudit.seeds import coins, derive
from dpaudit.training.recipe import Recipe
from dpaudit.types import IN, INSERTED, Array, Observation, Pair, Trial

if TYPE_CHECKING:
    from torch import nn

    from dpaudit.training.job import CanaryProducts


def example(adversary: Adversary, recipe: Recipe, size: int, samples: int) -> Observation:
    """What is seen of a trial, but for its numbers: names and shapes, without any training."""
    steps, even = recipe.steps(size), np.full(recipe.classes, 1 / recipe.classes)
    watched: dict[str, Observation] = {
        WHITE_BOX.name: {"updates": np.zeros(steps)},
        FINAL_WEIGHTS.name: {"moved": np.zeros(())},
        PER_STEP.name: {"step": np.zeros(())},
    }
    if not adversary.asks:
        return watched[adversary.name]
    seen = {"logits": np.log(even), "probabilities": even}
    if _has_passes(adversary, recipe):
        seen["mc"] = np.tile(even, (samples, 1))
    return seen


def _has_passes(adversary: Adversary, recipe: Recipe) -> bool:
    """Whether a model is also asked with dropout on."""
    return adversary == OBSERVER or recipe.training.dropout > 0


@dataclass(frozen=True)
class View:
    """An adversary's view of trainings on a pair by a recipe.

    `size` is the public number of records, `samples` how often a model with dropout is asked.
    """

    adversary: Adversary
    recipe: Recipe
    pair: Pair
    size: int
    samples: int

    def __post_init__(self) -> None:
        if self.adversary.crafts and "initial" not in self.pair.given:
            raise BadInput(
                f"{self.adversary.name} starts from parameters of its own, and the pair has none; "
                "give what the mechanism's craft(data, seed) gives to the canary",
                "needs-parameters",
                option="adversary",
                value=self.adversary.name,
            )

    def of(self, trial: Trial) -> Observation:
        """Train one model, and look."""
        return self._asked(trial) if self.adversary.asks else self._watched(trial)

    def _asked(self, trial: Trial) -> Observation:
        """What the trained model says of the canary."""
        from dpaudit.training import backends, predict
        from dpaudit.training.dpsgd import fit

        pair = self.pair
        records, initial = pair.world(trial.world), pair.given.get("initial")
        model = fit(self.recipe, records, trial.seed, size=self.size, initial=initial).model
        ask = partial(predict.logits, model)
        if not _has_passes(self.adversary, self.recipe):
            return observed(ask, None, pair, trial, self.samples)
        built = backends.build(self.recipe)
        ask_often = partial(backends.BACKENDS[built.name].mc_dropout, model)
        return observed(ask, ask_often, pair, trial, self.samples)

    def of_steps(self, trials: Sequence[Trial]) -> list[Observation]:
        """What single steps show, by their index, of one training in each world.

        Two trainings go different ways, so that what the records put into a step would tell
        them apart, too; it is subtracted, as whoever knows the records can.
        """
        if self.pair.canary.record:
            raise BadInput(
                "single steps show a gradient that is put into each; give such a canary",
                "needs-gradient-canary",
                option="canary",
                value=self.pair.canary.name,
            )
        seed = self.recipe.init_seed
        worlds = sorted({trial.world for trial in trials})
        alone = {}
        for world in worlds:
            _, seen = self._fit(world, derive(seed, "per-step", world), always=True)
            alone[world] = seen.products[:, 0] - seen.background[:, 0]
        return [{"step": np.asarray(alone[t.world][t.index])} for t in trials]

    def of_many(self, trial: Trial) -> Observation:
        """What every update shows of each of many canaries, and which of them were in.

        Canaries come first, as trials do elsewhere: each is one, of a world by its own coin.
        """
        from dpaudit.training import predict

        inserted = coins(trial.seed, len(self.aims))
        model, seen = self._fitted(trial.world, trial.seed, inserted)
        useful = {"accuracy": accuracy(partial(predict.logits, model), self.pair.test)}
        return {"updates": seen.products.T, INSERTED: inserted, **useful}

    def _watched(self, trial: Trial) -> Observation:
        """How the updates, or all of them together, point along the canary's gradient."""
        from dpaudit.training import predict
        from dpaudit.training.gradients import flat

        model, seen = self._fit(trial.world, trial.seed)
        useful = {"accuracy": accuracy(partial(predict.logits, model), self.pair.test)}
        if self.adversary == WHITE_BOX:
            return {"updates": seen.products[:, 0], **useful}
        (g,) = self.aims
        return {"moved": self._moved(flat(model)) @ g, **useful}

    def _fit(
        self, world: int, seed: int, always: bool = False
    ) -> tuple[nn.Sequential, CanaryProducts]:
        """Train one model, and watch it: a gradient canary is put in beside the records."""
        if (canaries := len(self.aims)) > 1:
            raise BadInput(
                f"worlds that differ in {canaries:,} canaries are no neighbours; make the "
                f"mechanism with canaries={canaries}",
                "several-canaries",
                option="canaries",
                value=canaries,
            )
        inserted = np.full(canaries, not self.pair.canary.record and world == IN)
        return self._fitted(world, seed, inserted, always)

    def _fitted(
        self, world: int, seed: int, inserted: Array, always: bool = False
    ) -> tuple[nn.Sequential, CanaryProducts]:
        from dpaudit.training.dpsgd import fit
        from dpaudit.training.job import CanaryProducts, GradientCanaries

        fitted = fit(
            *(self.recipe, self.pair.world(world), seed),
            size=self.size,
            initial=self._initial,
            gradient_canaries=GradientCanaries(self.aims, inserted, always),
        )
        assert fitted.products is not None
        assert fitted.background is not None
        return fitted.model, CanaryProducts(fitted.products, fitted.background)

    @cached_property
    def aims(self) -> Array:
        """g*, one a row: of a record, its gradient at the initial parameters."""
        from dpaudit.training.gradients import direction, directions

        own, c = directions(self.pair.given, len(self._initial)), self.pair.canary
        return direction(self.recipe, self._initial, c.x, c.y)[None] if own is None else own

    @property
    def _initial(self) -> Array:
        return self.pair.given["initial"]

    def _moved(self, trained: Array) -> Array:
        """theta_0 - theta_T, in units of what a gradient of the clip norm moves in a step."""
        unit = self.recipe.training.lr * self.recipe.clip / self.recipe.expected_batch(self.size)
        return np.asarray((self._initial.astype(np.float64) - trained) / unit)
