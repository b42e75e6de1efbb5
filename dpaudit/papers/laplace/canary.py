"""What the three Laplace mechanisms share: networks for their data, and worlds record by record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.papers.laplace import Limits, Network, joint_epsilon, release
from dpaudit.papers.laplace.training import Course
from dpaudit.types import IN, OUT, Array, Data, Known, Pair, Records, Trial

UNITS = {"model": "whole model", "parameter": "each parameter"}
PROMISES = ("theorem", "composed")

TRAINING = ("epochs", "batch", "lr", "hidden", "width", "decay")
"""Settings of networks, which have no effect where none is trained."""

EXACT = {OUT: "exact_out", IN: "exact_in"}
"""What either world would release without noise, among what the adversary has of a pair."""


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

    def course(self, data: Data, seed: int) -> Course:
        """Return how networks for these data are trained."""
        network = Network.of(int(np.prod(data.shape)), self.hidden, self.width, data.classes)
        size = len(data.pool) if self.batch == "full" else int(self.batch)
        return Course(network, self.epochs, size, self.lr, self.decay, seed)


@dataclass(frozen=True)
class Thresholds:
    """The limits of weights and of biases, each as LOW,HIGH."""

    weights: str
    biases: str

    def limits(self) -> Limits:
        """Return them as numbers."""
        return Limits.read(self.weights, self.biases)


def of_world(pair: Pair, world: int) -> tuple[Array, Array]:
    """The records of a world as rows, and their classes.

    The canary lies where the record lay that it replaces, so that both worlds have the same
    batches.
    """
    x, y, place = flat(pair.out), pair.out.y, replaced(pair)
    if world == IN and place is not None:
        x, y = x.copy(), y.copy()
        x[place], y[place] = pair.canary.x.reshape(-1), pair.canary.y
    return np.clip(x, 0, 1), y


def replaced(pair: Pair) -> int | None:
    """Where the worlds differ; None where they do not."""
    c = pair.canary
    return c.removed if c.inserted and c.replaces else None


def flat(records: Records) -> Array:
    """Records as rows, in double precision."""
    return records.x.reshape(len(records), -1).astype(np.float64)


def accuracy(network: Network, parameters: Array, test: Records) -> Array:
    """The share of test records that a network gets right."""
    guesses = network.classified(parameters, np.clip(flat(test), 0, 1))
    return np.asarray(np.mean(guesses == test.y), dtype=np.float32)


def foreseen(pair: Pair) -> Known | None:
    """What was foreseen of a pair already; None where nothing was."""
    return pair.given if pair.given.keys() >= set(EXACT.values()) else None


def exact(out: Array, inn: Array, low: Array, high: Array, scale: Array) -> Known:
    """What the adversary has of numbers that are released with noise."""
    return {EXACT[OUT]: out, EXACT[IN]: inn, "low": low, "high": high, "scale": scale}


def noisy(given: Known, trial: Trial) -> Array:
    """What a trial releases: the numbers of its world, with noise of its own."""
    draw = np.random.default_rng(trial.seed)
    f = given[EXACT[trial.world]]
    return release(f, given["low"], given["high"], given["scale"], draw)


def leak(given: Known) -> float:
    """What all numbers together leak between the two worlds, in truth."""
    return joint_epsilon(given[EXACT[OUT]], given[EXACT[IN]], given["scale"])
