"""The clipped sum in the obvious way, which every faster one must agree with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.training.descent import cross_entropy
from dpaudit.training.sequential import leaves
from dpaudit.types import Array


def clipped_sum(
    model: nn.Sequential, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor]
) -> tuple[Array, Array]:
    """The sum of the records' clipped gradients, one record at a time, and their norms.

    `masks` has one tensor per dropout layer, of a row per record: True where a value is kept.
    """
    total, norms = np.zeros(sum(p.numel() for p in model.parameters())), np.zeros(len(y))
    for i in range(len(y)):
        h, kept = x[i : i + 1], iter(masks)
        for layer in leaves(model):
            if isinstance(layer, nn.Dropout):
                h = h * next(kept)[i : i + 1] / (1 - layer.p)
            else:
                h = layer(h)
        loss = cross_entropy(h, y[i : i + 1]).sum()
        pieces = torch.autograd.grad(loss, list(model.parameters()))
        g = torch.cat([piece.flatten() for piece in pieces]).double().numpy()
        norms[i] = np.linalg.norm(g)
        total += g * min(1.0, clip / max(norms[i], np.finfo(float).tiny))
    return total, norms


def draw_masks(model: nn.Sequential, x: Tensor, generator: torch.Generator) -> list[Tensor]:
    """Random masks of the model's dropout layers for these records, of half the values at most."""
    masks, h = [], x
    with torch.no_grad():
        for layer in leaves(model):
            if isinstance(layer, nn.Dropout):
                drawn = torch.rand(h.shape, generator=generator)
                # Of a rate near 1, masks would leave nothing to look at.
                masks.append(drawn >= min(layer.p, 0.5))
            else:
                h = layer(h)
    return masks
