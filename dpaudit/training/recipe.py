"""The recipe of a training: all but the data and the seed; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpaudit.config.settings import Training
from dpaudit.training import networks

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Recipe:
    """The settings by which DP-SGD fits one model to records of a shape."""

    training: Training
    shape: tuple[int, ...]
    classes: int
    clip: float = 1.0
    noise_multiplier: float = 0.0
    init_seed: int = 0
    """The seed of the initial weights if `init` is 'fixed'; else each model draws its own."""

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
        """Return the training settings of a report, for a public number of records."""
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
