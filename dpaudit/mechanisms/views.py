"""Observations of a model: a classifier's outputs, or what an adversary of a training sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.config.adversaries import FINAL_WEIGHTS, OBSERVER, PER_STEP, WHITE_BOX, Adversary
from dpaudit.errors import BadInput
from dpaudit.outputs import softmax
from dpaudit.seeds import coins, derive, stream
from dpaudit.types import IN, INSERTED, Array, Observation, Pair, Records, Trial

if TYPE_CHECKING:
    from torch import nn

    from dpaudit.training.job import CanaryProducts
    from dpaudit.training.recipe import Recipe

UTILITY_TRIALS, UTILITY_RECORDS, UTILITY_SAMPLES = 20, 500, 32
"""The first trials of each world also show their outputs on test records, to judge defences by."""

Logits = Callable[[Array], Array]
"""Records to logits (records, classes)."""

Samples = Callable[[Array, int, int], Array]
"""Records, T and a seed to the probabilities of T passes with dropout (T, records, classes)."""


def observe(
    logits_of: Logits, samples_of: Samples | None, pair: Pair, trial: Trial, samples: int
) -> Observation:
    """Return the canary's logits and probabilities, with `mc` from a network with dropout."""
    canary, test = pair.canary.x[None], pair.test
    logits = logits_of(canary)[0]
    seen = {
        "logits": logits,
        "probabilities": softmax(logits),
        "accuracy": accuracy(logits_of, test),
    }
    if samples_of is not None:
        seen["mc"] = samples_of(canary, samples, stream(trial.seed, "mc"))[:, 0]
    if trial.index < UTILITY_TRIALS:
        x = test.x[:UTILITY_RECORDS]
        if samples_of is not None:
            outputs = samples_of(x, UTILITY_SAMPLES, stream(trial.seed, "utility"))
            seen["test_mc"] = outputs.astype(np.float16)
        else:
            seen["test_probabilities"] = softmax(logits_of(x))
    return seen


def accuracy(logits_of: Logits, test: Records) -> Array:
    """Return the share of test records that a classifier gets right."""
    guesses = logits_of(test.x).argmax(axis=1)
    return np.asarray(np.mean(guesses == test.y), dtype=np.float32)


def example(adversary: Adversary, recipe: Recipe, size: int, samples: int) -> Observation:
    """Return the names and shapes of an observation, without any training."""
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
    """Return whether a model is also queried with dropout on."""
    return adversary == OBSERVER or recipe.training.dropout > 0


@dataclass(frozen=True)
class View:
    """An adversary's view of trainings on a pair by a recipe.

    `size` is the public number of records, `samples` the number of passes with dropout.
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
        """Train one model, and return its observation."""
        return self._asked(trial) if self.adversary.asks else self._watched(trial)

    def _asked(self, trial: Trial) -> Observation:
        """Return the outputs of the trained model on the canary."""
        from dpaudit.training import backends, predict
        from dpaudit.training.dpsgd import fit

        pair = self.pair
        records, initial = pair.world(trial.world), pair.given.get("initial")
        model = fit(self.recipe, records, trial.seed, size=self.size, initial=initial).model
        samples_of = None
        if _has_passes(self.adversary, self.recipe):
            backend = backends.BACKENDS[backends.build(self.recipe).name]
            samples_of = partial(backend.mc_dropout, model)
        return observe(partial(predict.logits, model), samples_of, pair, trial, self.samples)

    def of_steps(self, trials: Sequence[Trial]) -> list[Observation]:
        """Return one step a trial, by its index, of one training in each world.

        The records' part of a step, by which two trainings also differ, is subtracted: the
        adversary knows the records.
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
        """Return all updates along each of many canaries, and which of them were in.

        Canaries are the first axis, as trials are elsewhere; each has its own coin.
        """
        inserted = coins(trial.seed, len(self.aims))
        model, seen = self._fitted(trial.world, trial.seed, inserted)
        return {"updates": seen.products.T, INSERTED: inserted, **self._accuracy(model)}

    def _watched(self, trial: Trial) -> Observation:
        """Return the products of the updates, or of their sum, with the canary's gradient."""
        from dpaudit.training.gradients import flat

        model, seen = self._fit(trial.world, trial.seed)
        if self.adversary == WHITE_BOX:
            return {"updates": seen.products[:, 0], **self._accuracy(model)}
        (g,) = self.aims
        return {"moved": self._moved(flat(model)) @ g, **self._accuracy(model)}

    def _accuracy(self, model: nn.Sequential) -> Observation:
        from dpaudit.training import predict

        return {"accuracy": accuracy(partial(predict.logits, model), self.pair.test)}

    def _fit(
        self, world: int, seed: int, always: bool = False
    ) -> tuple[nn.Sequential, CanaryProducts]:
        """Train and watch one model; a gradient canary is inserted beside the records."""
        if (canaries := len(self.aims)) > 1:
            problem = (
                f"worlds that differ in {canaries:,} canaries are no neighbours; make the "
                f"mechanism with canaries={canaries}"
            )
            raise BadInput(problem, "several-canaries", option="canaries", value=canaries)
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
        """g*, one a row; that of a record is its gradient at the initial parameters."""
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
