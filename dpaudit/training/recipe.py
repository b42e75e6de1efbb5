"""The recipe: everything about a training run but the data and the seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from torch import Tensor, nn
from torch.nn import functional

from dpaudit.config.settings import Training
from dpaudit.training import networks
from dpaudit.types import Array

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Recipe:
    """How one model is fitted by DP-SGD to records of a shape."""

    training: Training
    shape: tuple[int, ...]
    classes: int
    clip: float = 1.0
    noise_multiplier: float = 0.0
    init_seed: int = 0
    """Of the initial weights where `init` is 'fixed'; else each model draws its own."""

    def build(self) -> nn.Sequential:
        """Return the network, with parameters drawn by torch's own generator."""
        how = self.training
        return networks.build(how.network, self.shape, self.classes, how.dropout)

    def sample_rate(self, records: int) -> float:
        """Return q for a public number of records."""
        return self.training.sample_rate(records)

    def steps(self, records: int) -> int:
        """Return T for a public number of records."""
        return self.training.rounds(records)

    def expected_batch(self, records: int) -> float:
        """Return the public divisor of the gradient's sum: q times the number of records."""
        return self.sample_rate(records) * records

    def describe(self, records: int) -> dict[str, Any]:
        """Return what a report tells of the training, for a public number of records."""
        return {
            "network": self.training.network,
            "steps": self.steps(records),
            "batch": self.expected_batch(records),
            "sample_rate": self.sample_rate(records),
            "lr": self.training.lr,
            "clip": self.clip,
            "noise_multiplier": self.noise_multiplier,
            "dropout": self.training.dropout,
            "start": self.training.init,
        }


# ----------------------------------------------------------------
# What a backend is given: the steps of one training run, with every number settled.


Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Logits and labels to one loss per sample."""


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """The usual loss, which a backend may know by this very function."""
    return functional.cross_entropy(logits, y, reduction="none")


@dataclass(frozen=True)
class GradientCanaries:
    """Directions g* that are watched at every step and, where `inserted`, added to the sum.

    `directions` are m unit vectors over all parameters, one a row. An inserted one is one more
    record whose gradient is C g*, in a step's batch by its own coin of the sampling rate or, if
    `always`, in every one.
    """

    directions: Array
    inserted: Array
    always: bool = False

    def rate(self, sample_rate: float) -> float:
        """The chance of an inserted one to be in a step."""
        return 1.0 if self.always else sample_rate


class CanaryProducts(NamedTuple):
    """What is seen of gradient canaries, in units of C: (steps, m).

    `products` are <u_t, g*>, where u_t is the noisy sum of step t; `background` is the same of
    the records' clipped gradients alone, before canaries and noise. So their difference is
    noise and inserted canaries, to whoever knows the records, the parameters and the batch.
    """

    products: Array
    background: Array


@dataclass(frozen=True)
class TrainingJob:
    """theta <- theta - rate_per_sum (sum of clipped gradients + N(0, (s C)^2 I)), `steps` times.

    Each record is in a step's batch by its own coin of `sample_rate` (1: always). An empty
    batch still takes its noise and counts as a step. All randomness comes from `seed`, by the
    backend's own generators or by torch's global one, which the caller has seeded with it for
    this model alone.
    """

    model: nn.Sequential
    x: Tensor
    y: Tensor
    sample_rate: float
    steps: int
    rate_per_sum: float
    clip: float
    noise_multiplier: float
    seed: int
    loss: Loss = cross_entropy
    gradient_canaries: GradientCanaries | None = None
