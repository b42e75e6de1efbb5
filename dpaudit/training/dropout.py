"""Dropout masks, many times faster than by one random float per value."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import torch
from torch import Tensor, nn

Shape = tuple[int, ...]

LEVELS = 2**16
"""A value is kept by 16 random bits, so that its chance is p rounded to a multiple of 2^-16."""


class Masks:
    """Random masks of a network's dropout layers, for one batch after another.

    A record's bits for all layers are drawn together, those of the last record last: on a CPU,
    one more record at the end of a batch leaves the masks of the others as they are.
    """

    def __init__(
        self, layers: Sequence[tuple[nn.Dropout, Shape]], generator: torch.Generator
    ) -> None:
        # Where nothing is dropped, one value that is always kept stands for all.
        self._shapes = [shape if layer.p else (1,) * len(shape) for layer, shape in layers]
        # At most the largest 16-bit integer, beyond which a comparison would wrap around.
        levels = [min(round(layer.p * LEVELS), LEVELS - 1) for layer, _ in layers]
        self._least = [level - LEVELS // 2 for level in levels]
        # Four values to a random integer; whole integers to a record.
        self._integers = -(-sum(map(prod, self._shapes)) // 4)
        self._generator = generator

    def draw(self, records: int) -> list[Tensor]:
        """One mask per layer, True where a value is kept."""
        size, device = (records, self._integers), self._generator.device
        random = torch.empty(size, dtype=torch.int64, device=device)
        # From the least integer on without a limit: all 64 bits are random.
        random.random_(-(2**63), None, generator=self._generator)
        bits, masks, start = random.view(torch.int16), [], 0
        for shape, least in zip(self._shapes, self._least, strict=True):
            end = start + prod(shape)
            masks.append(_shaped(bits[:, start:end] >= least, shape))
            start = end
        return masks


def _shaped(mask: Tensor, shape: Shape) -> Tensor:
    """With the channels last in memory, like the activations that it will be multiplied with."""
    if len(shape) < 2:
        return mask.view(-1, *shape)
    return mask.view(-1, *shape[1:], shape[0]).movedim(-1, 1)
