"""One training job as a backend is given it, and the record of its gradient canaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from dpaudit.seeds import stream
from dpaudit.types import Array

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Logits and labels to one loss per record."""


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Return the usual loss; a backend that takes no other recognises it by this function."""
    return functional.cross_entropy(logits, y, reduction="none")


@dataclass(frozen=True)
class GradientCanaries:
    """Directions g* that are recorded at every step and, where `inserted`, added to the sum.

    `directions` are m unit vectors over all parameters, one a row. An inserted canary is one more
    record whose gradient is C g*, in a step's batch by its own coin of the sampling rate or, if
    `always`, in every batch.
    """

    directions: Array
    inserted: Array
    always: bool = False

    def rate(self, sample_rate: float) -> float:
        """Return the chance that an inserted canary is in a step."""
        return 1.0 if self.always else sample_rate


class CanaryProducts(NamedTuple):
    """Inner products with gradient canaries, in units of C: (steps, m).

    `products` are <u_t, g*>, where u_t is the noisy sum of step t; `background` is the same of
    the records' clipped gradients alone, before canaries and noise. So their difference is
    noise and inserted canaries, to an adversary that knows the records, parameters and batch.
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


class CanaryRecorder:
    """The gradient canaries of one job in torch; its sums are tensors such as `like`."""

    def __init__(self, job: TrainingJob, like: Tensor) -> None:
        assert job.gradient_canaries
        self._job, self._canaries = job, job.gradient_canaries
        rows = np.ascontiguousarray(self._canaries.directions, np.float32)
        self._directions = torch.from_numpy(rows).to(like)
        self._rows: list[Tensor] = []

    def draw(self, step: int) -> Tensor:
        """Return C times the sum of the inserted directions whose coins fall at this step."""
        rate = self._canaries.rate(self._job.sample_rate)
        batch = coins(self._job.seed, "canary", step, len(self._directions), rate)
        inserted = torch.from_numpy(batch & self._canaries.inserted).to(self._directions)
        return self._job.clip * (inserted @ self._directions)

    def add(self, records: Tensor, noisy: Tensor) -> None:
        """Record a step: the sum of its records alone, and the whole sum."""
        self._rows.append(torch.stack([noisy, records]) @ self._directions.T / self._job.clip)

    def products(self) -> CanaryProducts:
        """Return the products of all recorded steps."""
        return CanaryProducts(*torch.stack(self._rows, dim=1).cpu().double().numpy())


def coins(seed: int, purpose: str, step: int, count: int, rate: float) -> Array:
    """Draw which of `count` records or canaries are in the batch of this step, as booleans.

    The counter of Philox begins anew at each step, so that a coin does not depend on `count`.
    """
    philox = np.random.Philox(key=stream(seed, purpose), counter=[0, step, 0, 0])
    return np.asarray(np.random.Generator(philox).random(count) < rate)
