"""A backend's check of itself, on the first use of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.errors import BadInput
from dpaudit.training import bruteforce
from dpaudit.types import Array

SAMPLES, TOLERANCE = 32, 1e-4

ClippedSum = Callable[[nn.Sequential, Tensor, Tensor, float, Sequence[Tensor]], Array]
"""Model, records, labels, C and dropout masks to the flat sum of clipped gradients."""


def failure(
    clipped_sum: ClippedSum, model: nn.Sequential, shape: tuple[int, ...]
) -> BadInput | None:
    """What is wrong with a backend's clipped sum on such records, or None where nothing is.

    Half of the random records are clipped, and dropout has explicit masks. The error is that of
    the whole sum, relative to it.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.rand((SAMPLES, *shape), generator=generator)
    masks = bruteforce.draw_masks(model, x, generator)
    with torch.no_grad():
        classes = model(x[:1]).shape[1]
    y = torch.randint(classes, (SAMPLES,), generator=generator)
    _, norms = bruteforce.clipped_sum(model, x, y, 1.0, masks)
    clip = float(np.median(norms))
    expected, _ = bruteforce.clipped_sum(model, x, y, clip, masks)
    error = np.linalg.norm(clipped_sum(model, x, y, clip, masks) - expected)
    # Of a single class, all gradients are zero.
    error /= np.linalg.norm(expected) or 1.0
    if error <= TOLERANCE:
        return None
    told = f"its gradients are {error:.1g} off those of a loop over records"
    return BadInput(told, "wrong-gradients", option="backend", value=float(error))
