"""Trainers whose accountant is told of another training than theirs."""

from __future__ import annotations

from dpaudit.types import Array, Claim
from mutants.trainer import Correct, Recipe


class Shuffled(Correct):
    """Records are shuffled into batches of a fixed size, and accounted as Poisson samples."""

    def sample(self, t: int) -> Array:
        place, size = t % self.recipe.epoch, round(self.recipe.batch)
        if place == 0:
            self.order = self.coins.permutation(len(self.y))
        return self.order[place * size : (place + 1) * size]


class HalvedRate(Correct):
    """The accountant is told half of the sampling rate."""

    @classmethod
    def claim(cls, recipe: Recipe) -> Claim:
        return cls.accounted(recipe, recipe.sample_rate / 2, recipe.steps)


class LastEpoch(Correct):
    """The accountant is made anew in every epoch, and so knows only the steps of the last."""

    @classmethod
    def claim(cls, recipe: Recipe) -> Claim:
        return cls.accounted(recipe, recipe.sample_rate, recipe.epoch)
