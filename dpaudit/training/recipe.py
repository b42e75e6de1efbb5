"""The recipe: everything about a training run but the data and the seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpaudit.config.settings import Training
from dpaudit.training import networks

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

    def told(self, records: int) -> dict[str, Any]:
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
