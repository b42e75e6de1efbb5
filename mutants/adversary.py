"""Who audits the trainers: crafts the start and the records, and sees every update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpaudit.protocols import Mechanism
from dpaudit.types import (
    About,
    Array,
    Canary,
    Claim,
    Data,
    Known,
    Observation,
    Pair,
    Trial,
    neighbours,
)
from mutants.network import PIXELS, SECOND, gradients, parts, random_start
from mutants.trainer import Correct, Recipe

CANARY, AGAINST = 0, 1
"""The labels of blank records."""


@dataclass(frozen=True)
class LoneNeuron:
    """Starts from a network with a neuron that only blank records light up.

    Any ink turns it off, so that digits have no gradient in its parameters, whichever of them are
    in a batch: an update shows there the canary, which is blank, and the noise. From its output
    goes a weight of `-weight` to the class that the canary is said to be of, which it is least
    like; so its gradient is as long as the weight in the neuron's bias, and as long as the
    neuron's output, `light`, in the next layer. Biases there make up for it: all classes are
    equally likely for a blank record, whatever the weight is.

    Further blank records, `against` so many, are of a class that the neuron speaks for, a tenth
    as loudly: their gradients point the other way. They are in both worlds, and come last of all
    but the canary.
    """

    light: float = 0.1
    weight: float = 1e4
    against: int = 0
    second_layer_only: bool = False

    def pair(self, data: Data, size: int) -> Pair:
        """D, and D' with the canary, of `size` records; what else was crafted is `given`."""
        digits = size - 1 - self.against
        blank = np.zeros(data.shape, dtype=np.float32)
        pool = replace(data.pool, x=data.pool.x[:digits], y=data.pool.y[:digits])
        for _ in range(self.against):
            pool = pool.plus(blank, AGAINST)
        made = "a blank record, the only one to light up a neuron of the crafted start"
        pair = neighbours(replace(data, pool=pool), Canary(blank, CANARY, "blank", made))
        initial = self.start()
        return replace(pair, given={"initial": initial, "direction": self.direction(initial)})

    def start(self) -> Array:
        """The crafted parameters."""
        theta = random_start(seed=0)
        w1, b1, w2, b2 = parts(theta)
        w1[0], b1[0] = -1 - self.light, self.light
        w2[:, 0] = 0.0
        w2[CANARY, 0], w2[AGAINST, 0] = -self.weight, self.weight / 10
        b2[:] = -self.light * w2[:, 0]
        return theta

    def direction(self, initial: Array) -> Array:
        """g*: where the canary's gradient points within the neuron's parameters."""
        (g,) = gradients(initial, np.zeros((1, PIXELS)), np.array([CANARY]))
        theirs = np.zeros_like(g)
        w1, b1, w2, _ = parts(theirs)
        w1[0] = b1[0] = w2[:, 0] = 1.0
        if self.second_layer_only:
            theirs[: SECOND.start] = 0.0
        g = g * theirs
        return np.asarray(g / np.linalg.norm(g))


@dataclass(frozen=True)
class Watched(Mechanism):
    """A trainer as a mechanism: of each update one sees how far it goes along g*, in clip norms."""

    trainer: type[Correct]
    recipe: Recipe

    trials_per_call = 32

    @cached_property
    def claim(self) -> Claim:
        """What the trainer's author would claim."""
        return self.trainer.claim(self.recipe)

    def about(self, pair: Pair) -> About:
        """Describe the adversary."""
        return About("crafts the start and all records, and sees every update")

    def known(self, pair: Pair) -> Known:
        """The recipe, which is no secret."""
        told = ("sample_rate", "noise_multiplier", "batch", "epoch")
        return {name: np.array(getattr(self.recipe, name)) for name in told}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """One model a trial."""
        start, g = pair.given["initial"], pair.given["direction"]
        unit = self.recipe.clip / self.recipe.batch
        seen: list[Observation] = []
        for trial in trials:
            trained = self.trainer(self.recipe, pair.world(trial.world), start, trial.seed)
            seen.append({"updates": trained.run() @ g / unit})
        return seen
