"""The torch backend: DP-SGD by book-keeping, one forward and one backward pass per batch.

Bu, Wang, Zha and Karypis, "Differentially private optimization on large model at small cost"
(2022), https://arxiv.org/abs/2210.00038, with per-sample gradients formed for convolutions only
(`per_sample`). It takes any loss and runs on the device that the model's parameters are on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.seeds import stream
from dpaudit.training.clipping import Accumulator
from dpaudit.training.descent import Descent, Seen, cross_entropy
from dpaudit.training.dropout import Masks
from dpaudit.training.sequential import refusal
from dpaudit.training.watch import Watch, coins
from dpaudit.types import Array

__all__ = ["clipped_sum", "descend", "mc_dropout", "refusal"]


def clipped_sum(
    model: nn.Sequential, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor]
) -> Array:
    """The flat sum of the records' clipped gradients under the given dropout masks."""
    gradients = Accumulator(model, x.shape[1:])
    for part in torch.arange(len(y), device=x.device).split(gradients.capacity):
        gradients.add(x[part], y[part], clip, [mask[part] for mask in masks], cross_entropy)
    total: Array = gradients.sum.cpu().numpy()
    return total


def descend(job: Descent) -> Seen | None:
    """Train `job.model` in place; what is seen of gradient canaries, where there are any.

    Coins, masks and noise come from streams of their own. A coin is a function of the seed,
    the step and the record's place alone: a record at the end of the data whose coin never
    falls changes nothing. A batch that is too large for one pass is taken in several; on a CPU
    their size changes no random number, only the order in which gradients are added up, and
    with it the last bits. Noise is torch's normal of 24 random bits, which ends at about six
    deviations: enough for an audit, not for a release.
    """
    gradients = Accumulator(job.model, job.x.shape[1:])
    device = gradients.sum.device
    x, y = job.x.to(device), job.y.to(device)
    masks = Masks(gradients.dropped, _generator(job.seed, "masks", device))
    noise = _generator(job.seed, "noise", device)
    canaries = job.gradient_canaries
    watch = None if canaries is None else Watch(job, canaries, gradients.sum)
    for step in range(job.steps):
        gradients.sum.normal_(0, job.noise_multiplier * job.clip, generator=noise)
        before = gradients.sum.clone() if watch else gradients.sum
        there = coins(job.seed, "coins", step, len(job.y), job.sample_rate)
        chosen = torch.from_numpy(np.flatnonzero(there)).to(device)
        # An empty batch is a batch too: the loss is told of it.
        for part in chosen.split(gradients.capacity):
            gradients.add(x[part], y[part], job.clip, masks.draw(len(part)), job.loss)
        if watch:
            records = gradients.sum - before
            gradients.sum += watch.drawn(step)
            watch.see(records, gradients.sum)
        gradients.move(job.rate_per_sum)
    return watch.seen() if watch else None


def mc_dropout(model: nn.Sequential, x: Array, samples: int, seed: int) -> Array:
    """Class probabilities of `samples` passes with dropout on: (samples, records, classes)."""
    network = Accumulator(model, x.shape[1:])
    device = network.sum.device
    masks = Masks(network.dropped, torch.Generator(device).manual_seed(seed))
    records = torch.as_tensor(x).to(device)
    passes = torch.arange(samples * len(x), device=device) % len(x)
    rows = [
        network.logits(records[part], masks.draw(len(part))).softmax(dim=1).cpu()
        for part in passes.split(network.capacity)
    ]
    said: Array = torch.cat(rows).numpy()
    return said.reshape(samples, len(x), -1)


def _generator(seed: int, purpose: str, device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(stream(seed, purpose))
