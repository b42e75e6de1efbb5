"""The steps of a training by Adam, with noise or without."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Steps:
    """Of Adam, on sums of gradients that are each clipped; without noise where s is 0.

    What Adam makes of a noisy sum is post-processing. `expected` is the public divisor of a sum.
    """

    count: int
    sample_rate: float
    expected: float
    lr: float
    clip: float = float("inf")
    noise_multiplier: float = 0.0
