"""Training as the paper has it: with limits on the parameters, or with noise on every update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.network import Limits, Network
from dpaudit.papers.laplace.noise import log_likelihood_ratio, release
from dpaudit.seeds import generator
from dpaudit.types import Array, Data

Clip = Literal["record", "sum"]

NETWORK_SETTINGS = ("epochs", "batch", "lr", "hidden", "width", "decay")
"""Settings of networks, which have no effect if none is trained."""


@dataclass(frozen=True)
class Perceptron:
    """A fully connected network and how it is trained."""

    epochs: int = 20
    batch: int | str = 50
    lr: float = 0.3
    hidden: int = 3
    width: int = 16
    decay: float = 0.001

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.at_least("epochs", self.epochs, 1),
                None if self.batch == "full" else checks.at_least("batch", self.batch, 1),
                checks.positive("lr", self.lr),
                checks.whole("hidden", self.hidden, 0, 20),
                checks.whole("width", self.width, 1, 2000),
                checks.in_range("decay", self.decay, 0, 1),
            ]
        )

    def recipe(self, data: Data, seed: int) -> LaplaceRecipe:
        """Return the training of such a network on these data."""
        network = Network.of(int(np.prod(data.shape)), self.hidden, self.width, data.classes)
        size = len(data.pool) if self.batch == "full" else int(self.batch)
        return LaplaceRecipe(network, self.epochs, size, self.lr, self.decay, seed)


@dataclass(frozen=True)
class Thresholds:
    """The limits of weights and of biases, each as LOW,HIGH."""

    weights: str
    biases: str

    def limits(self) -> Limits:
        """Return them as numbers."""
        return Limits(_two("weights", self.weights), _two("biases", self.biases))


def _two(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        problem = f"'{text}' of {name} is not LOW,HIGH, such as -1,1"
        raise BadInput(problem, "malformed", option=name, value=text) from None
    return low, high


@dataclass(frozen=True)
class LaplaceRecipe:
    """The steps of a training and where it starts: the same in both worlds."""

    network: Network
    epochs: int
    batch: int
    lr: float
    decay: float
    """lambda, which pulls weights towards 0; divided by the batch size, as in (5)."""
    seed: int

    def batches(self, records: int) -> Sequence[Array]:
        """Return the records of each batch, in an order drawn once: each in one batch an epoch."""
        order = generator(self.seed, "laplace", "order").permutation(records)
        return np.array_split(order, max(1, round(records / self.batch)))

    def start(self) -> Array:
        """Return the initial parameters."""
        return self.network.initial(self.seed)

    def step(self, flat: Array, sums: Array, records: int) -> Array:
        """w - a (dw + lambda w)/B and b - a db/B, (5) and (6)."""
        pulled = np.where(self.network.is_bias, 0.0, self.decay * flat)
        return np.asarray(flat - self.lr * (sums + pulled) / records)


def train(recipe: LaplaceRecipe, x: Array, y: Array, limits: Limits | None) -> Array:
    """Return the parameters after ordinary training, clipped to the limits at every step."""
    flat, network = recipe.start(), recipe.network
    low, high = (-np.inf, np.inf) if limits is None else limits.of(network)
    flat = np.clip(flat, low, high)
    batches = recipe.batches(len(y))
    for _ in range(recipe.epochs):
        for batch in batches:
            sums = network.gradient_sum(flat, x[batch], y[batch])
            flat = np.clip(recipe.step(flat, sums, len(batch)), low, high)
    return flat


@dataclass(frozen=True)
class Twin:
    """The record that the other world has in one place; `is_in` if that world is D'."""

    place: int
    x: Array
    y: int
    is_in: bool

    def replace(self, batch: Array, x: Array, y: Array) -> tuple[Array, Array]:
        """Return a batch as the other world has it."""
        bx, by, at = x[batch], y[batch], batch == self.place
        bx[at], by[at] = self.x, self.y
        return bx, by


@dataclass(frozen=True)
class Anonymized:
    """AnonymizedLearning: Laplace noise on every batch's update, epsilon for each parameter.

    A record's dw is between its range and the thresholds, whichever is nearer to 0. The sum over a
    batch, of which one record is replaced, then changes by at most `high - low`, and has Laplace
    noise of E (high - low)/epsilon, E epochs. `record` clips each record's own before they are
    added up; `sum`, the literal reading, clips their sum to what one record may be.
    """

    recipe: LaplaceRecipe
    limits: Limits
    epsilon: float
    clip: Clip = "record"

    def train(
        self, x: Array, y: Array, draw: np.random.Generator, twin: Twin | None = None
    ) -> tuple[Array, Array]:
        """Return the parameters, and a log-likelihood ratio of the twin for each epoch.

        An observer of all updates knows the parameters before each of them, and so the sums of
        either world; only the batch with the record tells anything.
        """
        recipe = self.recipe
        flat, ratios = recipe.start(), []
        batches = recipe.batches(len(y))
        for _ in range(recipe.epochs):
            for batch in batches:
                low, high = self._limits(flat)
                scale = recipe.epochs * (high - low) / self.epsilon
                mine = self._sums(flat, x[batch], y[batch], low, high)
                size = 1 if self.clip == "sum" else len(batch)
                ends = size * low, size * high
                noisy = release(mine, *ends, scale, draw)
                if twin is not None and twin.place in batch:
                    theirs = self._sums(flat, *twin.replace(batch, x, y), low, high)
                    out, inn = (mine, theirs) if twin.is_in else (theirs, mine)
                    ratios.append(log_likelihood_ratio(noisy, out, inn, *ends, scale))
                flat = recipe.step(flat, noisy, len(batch))
        return flat, np.array(ratios)

    def _limits(self, flat: Array) -> tuple[Array, Array]:
        lows, highs = self.recipe.network.ranges(flat)
        low, high = self.limits.of(self.recipe.network)
        return np.maximum(low, lows), np.minimum(high, highs)

    def _sums(self, flat: Array, x: Array, y: Array, low: Array, high: Array) -> Array:
        network = self.recipe.network
        if self.clip == "record":
            return network.clipped_sum(flat, x, y, low, high)
        return np.clip(network.gradient_sum(flat, x, y), low, high)
