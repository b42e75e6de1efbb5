"""The recipe: everything about a training run but the data and the seed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

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
    total_steps: int | None = None
    """T, where it is stated as such: the epochs then do not matter."""

    def __repr__(self) -> str:
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.total_steps is None:
            # A run is resumed by what its mechanism tells: that of older runs has no such field.
            del told["total_steps"]
        return f"Recipe({', '.join(f'{name}={value!r}' for name, value in told.items())})"

    def sample_rate(self, records: int) -> float:
        """q: the chance of a record to be in a batch, for a public number of records."""
        return 1.0 if self.batch is None else min(1.0, self.batch / records)

    def steps(self, records: int) -> int:
        """T: as stated, else as many batches as the epochs hold, rounded down."""
        if self.total_steps is not None:
            return self.total_steps
        return max(1, int(self.epochs / self.sample_rate(records) + 1e-9))

    def expected_batch(self, records: int) -> float:
        """The public divisor of the gradient's sum: q times the number of records."""
        return self.sample_rate(records) * records

    def told(self, records: int) -> dict[str, Any]:
        """What a report tells of the training, for a public number of records."""
        return {
            "network": self.network,
            "steps": self.steps(records),
            "batch": self.expected_batch(records),
            "sample_rate": self.sample_rate(records),
            "lr": self.lr,
            "clip": self.clip,
            "noise_multiplier": self.noise_multiplier,
            "dropout": self.dropout,
            "start": self.init,
        }
