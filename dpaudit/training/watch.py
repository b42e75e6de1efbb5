"""Gradient canaries in torch: what they add to a step, and what is seen of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dpaudit.seeds import stream
from dpaudit.training.descent import Descent, GradientCanaries, Seen
from dpaudit.types import Array


class Watch:
    """The gradient canaries of one descent, whose sums are tensors such as `like`."""

    def __init__(self, job: Descent, canaries: GradientCanaries, like: Tensor) -> None:
        self._job, self._canaries = job, canaries
        rows = np.ascontiguousarray(canaries.directions, np.float32)
        self._directions = torch.from_numpy(rows).to(like)
        self._rows: list[Tensor] = []

    def drawn(self, step: int) -> Tensor:
        """C times the sum of the inserted directions whose coins fall at this step."""
        rate = self._canaries.rate(self._job.sample_rate)
        there = coins(self._job.seed, "canary", step, len(self._directions), rate)
        inserted = torch.from_numpy(there & self._canaries.inserted).to(self._directions)
        return self._job.clip * (inserted @ self._directions)

    def see(self, records: Tensor, noisy: Tensor) -> None:
        """Take down a step: the sum of its records alone, and all of it."""
        self._rows.append(torch.stack([noisy, records]) @ self._directions.T / self._job.clip)

    def seen(self) -> Seen:
        """All steps taken down."""
        return Seen(*torch.stack(self._rows, dim=1).cpu().double().numpy())


def coins(seed: int, purpose: str, step: int, count: int, rate: float) -> Array:
    """Whether each of so many is in the batch of this step.

    The counter of Philox begins anew at each step, so that none's coin depends on how many
    there are.
    """
    counted = np.random.Philox(key=stream(seed, purpose), counter=[0, step, 0, 0])
    drawn: Array = np.random.Generator(counted).random(count) < rate
    return drawn
