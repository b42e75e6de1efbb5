"""Trainers that bound something else than what one record can move."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.types import Array
from mutants.network import FIRST, PARAMETERS, SECOND, W1, W2
from mutants.trainer import Correct


class NoClipping(Correct):
    """No gradient is clipped."""

    def clipped(self, g: Array) -> Array:
        return g


class ClippedMean(Correct):
    """The mean gradient of the batch is clipped, instead of each record's."""

    def update(self, g: Array, t: int) -> Array:
        mean = self.clipped(g.mean(axis=0, keepdims=True))[0]
        return mean + self.noise(t) / self.recipe.batch


class Microbatches(Correct):
    """The mean gradients of microbatches of 4 records are clipped, instead of each record's."""

    def summed(self, g: Array) -> Array:
        means = [g[i : i + 4].mean(axis=0) for i in range(0, len(g), 4)]
        return super().summed(np.array(means))


class PerLayer(Correct):
    """Each of the two layers is clipped to the norm that is accounted for both together."""

    def clipped(self, g: Array) -> Array:
        return np.hstack([super(PerLayer, self).clipped(g[:, layer]) for layer in (FIRST, SECOND)])


class WithoutBiases(Correct):
    """The norm by which a gradient is clipped is that of its weights, without the biases."""

    def norms(self, g: Array) -> Array:
        return super().norms(np.hstack([g[:, W1], g[:, W2]]))


class AccumulatedSum(Correct):
    """Gradients are accumulated over physical batches, and their sum is clipped."""

    def summed(self, g: Array) -> Array:
        accumulated = np.zeros((1, PARAMETERS))
        for i in range(0, len(g), 25):
            accumulated += g[i : i + 25].sum(axis=0)
        return self.clipped(accumulated)[0]


class RawMomentum(Correct):
    """Momentum is accumulated from gradients that are neither clipped nor noised."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.velocity = np.zeros(PARAMETERS)

    def update(self, g: Array, t: int) -> Array:
        u = super().update(g, t) + 0.9 * self.velocity
        self.velocity = 0.9 * self.velocity + g.sum(axis=0) / self.recipe.batch
        return u
