"""Training as the paper has it: with limits on the parameters, or with noise on every update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpaudit.papers.laplace.noise import log_likelihood_ratio, release
from dpaudit.papers.laplace.network import Limits, Network, propagated
from dpaudit.seeds import generator
from dpaudit.types import Array

Clip = Literal["record", "sum"]


@dataclass(frozen=True)
class Course:
    """How long and in which steps a network is trained, and from where: the same in both worlds."""

    network: Network
    epochs: int
    batch: int
    lr: float
    decay: float
    """lambda, which pulls weights towards 0; divided by the batch size, as in (5)."""
    seed: int

    def batches(self, records: int) -> Sequence[Array]:
        """Which records are in which batch, in an order drawn once: each in one batch an epoch."""
        order = generator(self.seed, "laplace", "order").permutation(records)
        return np.array_split(order, max(1, round(records / self.batch)))

    def start(self) -> Array:
        """Where training starts."""
        return self.network.initial(self.seed)

    def stepped(self, flat: Array, sums: Array, records: int) -> Array:
        """w - a (dw + lambda w)/B and b - a db/B, (5) and (6)."""
        pulled = np.where(self.network.is_bias, 0.0, self.decay * flat)
        return np.asarray(flat - self.lr * (sums + pulled) / records)


def learned(course: Course, x: Array, y: Array, limits: Limits | None) -> Array:
    """The parameters after ordinary training, kept between the limits at every step."""
    flat, network = course.start(), course.network
    low, high = (-np.inf, np.inf) if limits is None else limits.of(network)
    flat = np.clip(flat, low, high)
    batches = course.batches(len(y))
    for _ in range(course.epochs):
        for batch in batches:
            sums = network.gradient_sum(flat, x[batch], y[batch])
            flat = np.clip(course.stepped(flat, sums, len(batch)), low, high)
    return flat


@dataclass(frozen=True)
class Twin:
    """What another world has in a record's place; that world is D', or else D."""

    place: int
    x: Array
    y: int
    is_in: bool


@dataclass(frozen=True)
class Anonymized:
    """AnonymizedLearning: noise on every batch's update, for so much epsilon of each parameter.

    A record's dw is between its propagated range and the thresholds, whichever is nearer to 0. The
    sum over a batch, of which one record is replaced, then changes by at most `high - low`, and has
    Laplace noise of E (high - low)/epsilon, E epochs. `record` clips each record's own before they
    are added up; `sum`, the literal reading, clips their sum to what one record may be.
    """

    course: Course
    limits: Limits
    epsilon: float
    clip: Clip = "record"

    def trained(
        self,
        x: Array,
        y: Array,
        draw: np.random.Generator,
        twin: Twin | None = None,
    ) -> tuple[Array, Array]:
        """The parameters, and what every noisy update of a record's batch shows of its twin.

        Whoever sees all updates knows the parameters before each of them, and so what either world
        would have added to it: one log-likelihood ratio for each epoch.
        """
        course = self.course
        flat, ratios = course.start(), []
        batches = course.batches(len(y))
        for _ in range(course.epochs):
            for batch in batches:
                low, high = self._limits(flat)
                scale = course.epochs * (high - low) / self.epsilon
                mine = self._sums(flat, x[batch], y[batch], low, high)
                size = 1 if self.clip == "sum" else len(batch)
                ends = size * low, size * high
                noisy = release(mine, *ends, scale, draw)
                if twin is not None and twin.place in batch:
                    theirs = self._sums(flat, *_with(twin, batch, x, y), low, high)
                    out, inn = (mine, theirs) if twin.is_in else (theirs, mine)
                    ratios.append(log_likelihood_ratio(noisy, out, inn, *ends, scale))
                flat = course.stepped(flat, noisy, len(batch))
        return flat, np.array(ratios)

    def _limits(self, flat: Array) -> tuple[Array, Array]:
        lows, highs = propagated(self.course.network, flat)
        low, high = self.limits.of(self.course.network)
        return np.maximum(low, lows), np.minimum(high, highs)

    def _sums(self, flat: Array, x: Array, y: Array, low: Array, high: Array) -> Array:
        network = self.course.network
        if self.clip == "record":
            return network.clipped_sum(flat, x, y, low, high)
        return np.clip(network.gradient_sum(flat, x, y), low, high)


def _with(twin: Twin, batch: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """A batch as the other world has it."""
    bx, by, at = x[batch], y[batch], batch == twin.place
    bx[at], by[at] = twin.x, twin.y
    return bx, by
