"""What a trained network releases: logits, and MC-dropout probabilities."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from dpaudit.types import Array

CHUNK = 512
"""Records per forward pass: keeps the activations of the largest network small."""


def logits(model: nn.Module, x: Array) -> Array:
    """The deterministic logits, dropout off."""
    model.eval()
    with torch.no_grad():
        rows = [model(part) for part in torch.as_tensor(x).split(CHUNK)]
        return torch.cat(rows).numpy()


def mc_dropout(model: nn.Module, x: Array, samples: int, seed: int) -> Array:
    """Class probabilities of `samples` passes with dropout on: (samples, records, classes)."""
    records = torch.as_tensor(x)
    repeated = records.repeat((samples, *[1] * (records.dim() - 1)))
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd):
            module.train()
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        rows = [torch.softmax(model(part), dim=1) for part in repeated.split(CHUNK)]
        flat: Array = torch.cat(rows).numpy()
    model.eval()
    return flat.reshape(samples, len(x), -1)


def softmax(z: Array) -> Array:
    """Probabilities of logits, over the last axis."""
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    probabilities: Array = e / e.sum(axis=-1, keepdims=True)
    return probabilities
