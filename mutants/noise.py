"""Trainers whose noise is not the noise that they account for."""

from __future__ import annotations

import numpy as np

from dpaudit.seeds import generator
from dpaudit.types import Array
from mutants.network import PARAMETERS, SECOND
from mutants.trainer import Correct


class DividedTwice(Correct):
    """The noise is divided by the batch size before the sum is, and so twice."""

    def noise(self, t: int) -> Array:
        return super().noise(t) / self.recipe.batch


class TooSmall(Correct):
    """The noise is too small by 20 %."""

    def noise(self, t: int) -> Array:
        return 0.8 * super().noise(t)


class FirstLayerOnly(Correct):
    """Only the first layer is given noise."""

    def noise(self, t: int) -> Array:
        drawn = super().noise(t)
        drawn[SECOND] = 0.0
        return drawn


class Reused(Correct):
    """The generator is seeded in every step, which thus has the same noise as all others."""

    def noise(self, t: int) -> Array:
        self.gaussian = generator(self.seed, "noise")
        return super().noise(t)


class OncePerEpoch(Correct):
    """Noise is added in the first step of each epoch, and in no other."""

    def noise(self, t: int) -> Array:
        return super().noise(t) if t % self.recipe.epoch == 0 else np.zeros(PARAMETERS)


class ForgetsClip(Correct):
    """The noise has the noise multiplier for its deviation, whatever the clip norm."""

    def noise(self, t: int) -> Array:
        return super().noise(t) / self.recipe.clip
