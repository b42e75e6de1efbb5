"""The outputs of a trained network: logits, and MC-dropout probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.types import Array

CHUNK = 512
"""Records per forward pass: keeps the activations of the largest network small."""

Forward = Callable[[Tensor], Tensor]
"""A function that calls the model, where that is not the model itself."""


def logits(model: Any, x: Array, forward: Forward | None = None) -> Array:
    """The deterministic logits, dropout off."""
    if isinstance(model, nn.Module):
        model.eval()
    with torch.no_grad():
        return _chunked(forward or model, torch.as_tensor(x))


def mc_dropout(
    model: nn.Module, x: Array, samples: int, seed: int, forward: Forward | None = None
) -> Array:
    """Class probabilities of `samples` passes with dropout on: (samples, records, classes)."""
    ask = forward or model
    return mc_logits(model, x, samples, seed, lambda part: torch.softmax(ask(part), dim=1))


def mc_logits(
    model: nn.Module, x: Array, samples: int, seed: int, forward: Forward | None = None
) -> Array:
    """The outputs of `samples` passes with dropout on: (samples, records, classes)."""
    records = torch.as_tensor(x)
    repeated = records.repeat((samples, *[1] * (records.dim() - 1)))
    model.eval()
    for layer in _dropouts(model):
        layer.train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        flat = _chunked(forward or model, repeated)
    model.eval()
    return flat.reshape(samples, len(x), -1)


def _chunked(forward: Forward, x: Tensor) -> Array:
    return np.asarray(torch.cat([forward(part) for part in x.split(CHUNK)]).numpy())


def drops(model: nn.Module) -> bool:
    """Return True if passes with dropout on differ: some layer has a rate above 0."""
    return any(layer.p > 0 for layer in _dropouts(model))


def has_dropout(model: nn.Module) -> bool:
    """Return True if there are dropout layers, of any rate."""
    return any(True for _ in _dropouts(model))


def _dropouts(model: nn.Module) -> Iterator[nn.modules.dropout._DropoutNd]:
    return (m for m in model.modules() if isinstance(m, nn.modules.dropout._DropoutNd))
