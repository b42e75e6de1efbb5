"""DP-SGD as it should be, in steps that a mutant gets wrong one at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import accounting
from dpaudit.seeds import generator
from dpaudit.types import Array, Claim, Records
from mutants.network import PARAMETERS, gradients

DELTA = 1e-5
"""Of every claim."""


@dataclass(frozen=True)
class Recipe:
    """How a model is trained; `size` is the public number of records that batches are made from.

    Steps are as small as `lr` here where an adversary chose the start: what it crafted lasts.
    """

    noise_multiplier: float
    sample_rate: float = 1.0
    steps: int = 4
    clip: float = 1.0
    lr: float = 1e-6
    size: int = 100

    @property
    def batch(self) -> float:
        """The expected size of a batch."""
        return self.sample_rate * self.size

    @property
    def epoch(self) -> int:
        """Steps in which every record is expected once."""
        return round(1 / self.sample_rate)


class Correct:
    """One training: Poisson sampling, every record's gradient clipped, noise in every step."""

    def __init__(self, recipe: Recipe, records: Records, initial: Array, seed: int) -> None:
        self.recipe, self.seed = recipe, seed
        self.x = records.x.reshape(len(records), -1).astype(np.float64)
        self.y = records.y
        self.theta = initial.copy()
        self.coins = generator(seed, "sampling")
        self.gaussian = generator(seed, "noise")

    def run(self) -> Array:
        """The update of every step, all of which are released."""
        return np.stack([self.step(t) for t in range(self.recipe.steps)])

    def step(self, t: int) -> Array:
        """One step down, and by what."""
        batch = self.sample(t)
        u = self.update(gradients(self.theta, self.x[batch], self.y[batch]), t)
        self.theta -= self.recipe.lr * u
        return u

    def sample(self, t: int) -> Array:
        """Which records are in the batch: each by a coin of its own."""
        return np.flatnonzero(self.coins.random(len(self.y)) < self.recipe.sample_rate)

    def update(self, g: Array, t: int) -> Array:
        """What is released of a batch's gradients, divided by a number that is no secret."""
        return (self.summed(g) + self.noise(t)) / self.recipe.batch

    def summed(self, g: Array) -> Array:
        """A sum that no record moves by more than the clip norm."""
        return self.clipped(g).sum(axis=0)

    def clipped(self, g: Array) -> Array:
        """Rows of at most the clip norm."""
        c = self.recipe.clip
        return g * (c / np.maximum(self.norms(g), c))[:, None]

    def norms(self, g: Array) -> Array:
        """Of rows, over all parameters."""
        return np.sqrt(np.einsum("ij,ij->i", g, g))

    def noise(self, t: int) -> Array:
        """Fresh noise for all parameters, in proportion to what a record can move."""
        scale = self.recipe.noise_multiplier * self.recipe.clip
        return scale * self.gaussian.standard_normal(PARAMETERS)

    @classmethod
    def claim(cls, recipe: Recipe) -> Claim:
        """What the trainer's author promises: the accountant's epsilon."""
        return cls.accounted(recipe, recipe.sample_rate, recipe.steps)

    @staticmethod
    def accounted(recipe: Recipe, sample_rate: float, steps: int) -> Claim:
        """The claim for a sampling rate and so many steps, with its curve."""
        curve = accounting.curve(recipe.noise_multiplier, sample_rate, steps)
        return Claim(
            accounting.epsilon(curve, DELTA),
            DELTA,
            curve=curve,
            source="exact Gaussian accounting" if sample_rate == 1 else "pld accountant",
        )
