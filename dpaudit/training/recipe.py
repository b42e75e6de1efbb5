"""The recipe: everything about a training run but the data and the seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Init = Literal["random", "fixed"]


@dataclass(frozen=True)
class Recipe:
    """How one model is fitted by DP-SGD; `batch` None is a full batch."""

    network: str
    shape: tuple[int, ...]
    classes: int
    epochs: int
    batch: int | None
    lr: float
    clip: float
    noise_multiplier: float
    dropout: float
    init: Init = "random"
    init_seed: int = 0
    """Of the initial weights where `init` is 'fixed'; else each model draws its own."""
    backend: str = "auto"
    """Which implementation trains; 'auto' is the fastest that can on the machine at hand."""

    def sample_rate(self, records: int) -> float:
        """q: the chance of a record to be in a batch, for a public number of records."""
        return 1.0 if self.batch is None else min(1.0, self.batch / records)

    def steps(self, records: int) -> int:
        """T: as many batches as the epochs hold, rounded down."""
        return max(1, int(self.epochs / self.sample_rate(records) + 1e-9))

    def expected_batch(self, records: int) -> float:
        """The public divisor of the gradient's sum: q times the number of records."""
        return self.sample_rate(records) * records
