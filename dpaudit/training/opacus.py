"""The Opacus backend: any module that Opacus takes, by Opacus' own clipping and noise."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import Tensor

from dpaudit.training.descent import Descent
from dpaudit.training.layout import row_by_row
from dpaudit.types import Array


def descend(job: Descent) -> Array | None:
    """Train `job.model` in place; <u_t, g*> per step where there is a gradient canary."""
    wrapped = GradSampleModule(job.model, loss_reduction="sum")
    optimizer = _Optimizer(
        torch.optim.SGD(wrapped.parameters(), lr=job.rate_per_sum),
        noise_multiplier=job.noise_multiplier,
        max_grad_norm=job.clip,
        expected_batch_size=None,
        loss_reduction="sum",
    )
    x = row_by_row(job.x)
    watched = None if job.gradient_canary is None else _Direction(job, wrapped)
    products = []
    with warnings.catch_warnings():
        # The first layer's input needs no gradient, which its backward hook warns about.
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        warnings.filterwarnings("ignore", message="Using a non-full backward hook")
        for _ in range(job.steps):
            chosen = _poisson(len(job.y), job.sample_rate)
            optimizer.zero_grad(set_to_none=True)
            job.loss(wrapped(x[chosen]), job.y[chosen]).sum().backward()
            optimizer.extra = watched.extra() if watched else None
            optimizer.step()
            if watched:
                products.append(watched.product())
    wrapped.to_standard_module()
    for p in job.model.parameters():
        p.grad = None
    return np.array(products) if watched else None


def _poisson(records: int, sample_rate: float) -> Tensor:
    if sample_rate == 1:
        return torch.arange(records)
    return torch.nonzero(torch.rand(records) < sample_rate).flatten()


class _Optimizer(DPOptimizer):  # type: ignore[misc]
    """Opacus' optimiser, with room for one more clipped gradient per step."""

    extra: list[Tensor] | None = None

    def clip_and_accumulate(self) -> None:
        super().clip_and_accumulate()
        if self.extra is not None:
            for p, g in zip(self.params, self.extra, strict=True):
                p.summed_grad += g


class _Direction:
    """A gradient canary, cut to the parameters' shapes."""

    def __init__(self, job: Descent, wrapped: GradSampleModule) -> None:
        assert job.gradient_canary is not None
        self._parameters = list(wrapped.parameters())
        flat = torch.as_tensor(job.gradient_canary.direction, dtype=torch.float32)
        pieces = flat.split([p.numel() for p in self._parameters])
        self._g = [g.view_as(p) for g, p in zip(pieces, self._parameters, strict=True)]
        self._inserted = job.gradient_canary.inserted
        self._sample_rate = job.sample_rate
        self._clip = job.clip

    def extra(self) -> list[Tensor] | None:
        """C g*, if it is inserted and its coin falls so."""
        if self._inserted and torch.rand(()).item() < self._sample_rate:
            return [self._clip * g for g in self._g]
        return None

    def product(self) -> float:
        """<u_t, g*> of the step just taken."""
        pairs = zip(self._parameters, self._g, strict=True)
        return sum(float((p.grad * g).sum()) for p, g in pairs if p.grad is not None) / self._clip
