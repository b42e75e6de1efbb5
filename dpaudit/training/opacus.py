"""The Opacus backend: any module that Opacus takes, by Opacus' own clipping and noise."""

from __future__ import annotations

import warnings

import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import Tensor
from torch.nn.utils import parameters_to_vector
from torch.utils.data import TensorDataset

from dpaudit.training.job import CanaryProducts, CanaryRecorder, TrainingJob
from dpaudit.types import Array, Records


def row_by_row(x: Tensor) -> Tensor:
    """The same records, channel by channel and row by row in memory.

    Opacus takes that for granted: if records lie with their channels last, as those of one
    channel may without showing it, its gradients of all convolutions but the first are wrong.
    """
    return x.flatten().view(x.shape)


class Tensors(TensorDataset):
    """A copy of the records as tensors, and the same memory as numpy arrays `x` and `y`."""

    def __init__(self, records: Records) -> None:
        super().__init__(row_by_row(torch.tensor(records.x)), torch.tensor(records.y))

    @property
    def x(self) -> Array:
        """The records, as in `tensors`."""
        return self.tensors[0].numpy()

    @property
    def y(self) -> Array:
        """The labels, as in `tensors`."""
        return self.tensors[1].numpy()


def train(job: TrainingJob) -> CanaryProducts | None:
    """Train `job.model` in place; return the products of its gradient canaries, if any."""
    wrapped = GradSampleModule(job.model, loss_reduction="sum")
    optimizer = _Optimizer(
        torch.optim.SGD(wrapped.parameters(), lr=job.rate_per_sum),
        noise_multiplier=job.noise_multiplier,
        max_grad_norm=job.clip,
        expected_batch_size=None,
        loss_reduction="sum",
    )
    x = row_by_row(job.x)
    recorder = CanaryRecorder(job, x) if job.gradient_canaries else None
    with warnings.catch_warnings():
        # The first layer's input needs no gradient, which its backward hook warns about.
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        warnings.filterwarnings("ignore", message="Using a non-full backward hook")
        for step in range(job.steps):
            chosen = torch.arange(len(job.y))
            if job.sample_rate < 1:
                chosen = torch.nonzero(torch.rand(len(job.y)) < job.sample_rate).flatten()
            optimizer.zero_grad(set_to_none=True)
            job.loss(wrapped(x[chosen]), job.y[chosen]).sum().backward()
            optimizer.extra = recorder.draw(step) if recorder else None
            optimizer.step()
            if recorder:
                noisy = parameters_to_vector(p.grad for p in optimizer.params)
                recorder.add(optimizer.records, noisy)
    wrapped.to_standard_module()
    for p in job.model.parameters():
        p.grad = None
    return recorder.products() if recorder else None


class _Optimizer(DPOptimizer):  # type: ignore[misc]
    """Opacus' optimiser, with room for a step's canaries, flat, beside its records."""

    extra: Tensor | None = None
    records: Tensor
    """The sum of the records' clipped gradients, where there is an extra."""

    def clip_and_accumulate(self) -> None:
        super().clip_and_accumulate()
        if self.extra is not None:
            self.records = parameters_to_vector(p.summed_grad for p in self.params)
            pieces = self.extra.split([p.numel() for p in self.params])
            for p, g in zip(self.params, pieces, strict=True):
                p.summed_grad += g.view_as(p)
