"""The torch backend: DP-SGD by book-keeping (`clipping`), any loss, on the parameters' device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.seeds import stream
from dpaudit.training.clipping import Accumulator, Shape
from dpaudit.training.job import CanaryProducts, CanaryRecorder, TrainingJob, coins, cross_entropy
from dpaudit.types import Array

LEVELS = 2**16
"""A value is kept by 16 random bits, so that its chance is p rounded to a multiple of 2^-16."""


class Masks:
    """Random masks of a network's dropout layers, for one batch after another.

    Many times faster than one random float per value. A record's bits for all layers are drawn
    together, those of the last record last: on a CPU, one more record at the end of a batch
    leaves the masks of the others as they are.
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
            mask = bits[:, start:end] >= least
            if len(shape) > 1:
                # Channels last in memory, like the activations that it is multiplied with.
                masks.append(mask.view(-1, *shape[1:], shape[0]).movedim(-1, 1))
            else:
                masks.append(mask.view(-1, *shape))
            start = end
        return masks


def clipped_sum(
    model: nn.Sequential, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor]
) -> Array:
    """The flat sum of the records' clipped gradients under the given dropout masks."""
    gradients = Accumulator(model, x.shape[1:])
    for part in torch.arange(len(y), device=x.device).split(gradients.capacity):
        gradients.add(x[part], y[part], clip, [mask[part] for mask in masks], cross_entropy)
    return np.asarray(gradients.sum.cpu().numpy())


def train(job: TrainingJob) -> CanaryProducts | None:
    """Train `job.model` in place; return the products of its gradient canaries, if any.

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
    masks = Masks(gradients.dropouts, _generator(job.seed, "masks", device))
    noise = _generator(job.seed, "noise", device)
    recorder = CanaryRecorder(job, gradients.sum) if job.gradient_canaries else None
    for step in range(job.steps):
        gradients.sum.normal_(0, job.noise_multiplier * job.clip, generator=noise)
        before = gradients.sum.clone() if recorder else gradients.sum
        batch = coins(job.seed, "coins", step, len(job.y), job.sample_rate)
        chosen = torch.from_numpy(np.flatnonzero(batch)).to(device)
        # An empty batch is a batch too: the loss is called with it.
        for part in chosen.split(gradients.capacity):
            gradients.add(x[part], y[part], job.clip, masks.draw(len(part)), job.loss)
        if recorder:
            records = gradients.sum - before
            gradients.sum += recorder.draw(step)
            recorder.add(records, gradients.sum)
        gradients.move(job.rate_per_sum)
    return recorder.products() if recorder else None


def mc_dropout(model: nn.Sequential, x: Array, samples: int, seed: int) -> Array:
    """Class probabilities of `samples` passes with dropout on: (samples, records, classes)."""
    network = Accumulator(model, x.shape[1:])
    device = network.sum.device
    masks = Masks(network.dropouts, torch.Generator(device).manual_seed(seed))
    records = torch.as_tensor(x).to(device)
    passes = torch.arange(samples * len(x), device=device) % len(x)
    rows = [
        network.logits(records[part], masks.draw(len(part))).softmax(dim=1).cpu()
        for part in passes.split(network.capacity)
    ]
    return np.asarray(torch.cat(rows).reshape(samples, len(x), -1).numpy())


def _generator(seed: int, purpose: str, device: torch.device) -> torch.Generator:
    return torch.Generator(device).manual_seed(stream(seed, purpose))
