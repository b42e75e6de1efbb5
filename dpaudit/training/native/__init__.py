"""The native backend: a kernel compiled for the network at hand, which keeps a record in cache.

It takes an `nn.Sequential` of Conv2d, ReLU, Dropout, MaxPool2d, Flatten and Linear layers with
cross-entropy. A record's gradient is computed, measured, scaled and added to the sum while it is
still in the processor's cache.

All randomness is a function of the seed: a record's coins and dropout of (seed, step, the
record's number), a gradient canary's coins likewise, the noise of (seed, step). So a record or a
canary at the end of the data shifts nothing. Coins have 32 bits. Dropout rates are rounded to a
multiple of 2^-16. Noise is normal up to the precision of 32 bits by Box and Muller, |z| < 6.8:
right for an audit, not for a release. All of it is the same on every machine; sums are added up in
the order that suits its vectors, so that weights differ in their last bits.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.errors import BadInput
from dpaudit.training.job import CanaryProducts, GradientCanaries, TrainingJob, cross_entropy
from dpaudit.training.layers import UnfitNetwork, leaves
from dpaudit.training.native import compiler
from dpaudit.training.native.library import ROOM, Canaries, Library, NativeData, NativeRun, library
from dpaudit.training.native.plan import plan
from dpaudit.types import Array

SLICE = 0.2
"""Seconds in the kernel at a time: an interrupt waits at most so long."""


def build(model: nn.Sequential, shape: tuple[int, ...]) -> BadInput | None:
    """Compile and load the network's kernel; return the reason why that fails, as a clause."""
    try:
        library(plan(model, tuple(shape)), compiler.FLAGS)
    except (UnfitNetwork, compiler.NoKernel) as reason:
        return reason.with_traceback(None)  # whose frames hold the model
    return None


def clipped_sum(
    model: nn.Sequential, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor]
) -> Array:
    """The flat sum of clipped gradients under given dropout masks, in torch's order."""
    kernel, theta, where = _loaded(model, x)
    out = np.zeros(kernel.c.parameters(), np.float32)
    data, _kept = _data(kernel, model, x, y)
    given = kernel.masks(masks)
    pointers = (ctypes.c_void_p * max(len(given), 1))(*[mask.ctypes.data for mask in given])
    with kernel.worker() as worker:
        kernel.c.clipped_sum(
            worker, ctypes.byref(data), pointers, theta.ctypes.data, clip, out.ctypes.data
        )
    return out[where]


def train(job: TrainingJob) -> CanaryProducts | None:
    """Train `job.model` in place; return the products of its gradient canaries, if any."""
    if job.loss is not cross_entropy:
        message = "the native backend takes no loss but cross-entropy; try another backend"
        raise BadInput(message, "unfit-loss", option="backend", value="native")
    kernel, theta, where = _loaded(job.model, job.x)
    data, _kept = _data(kernel, job.model, job.x, job.y)
    run = NativeRun(
        sample_rate=job.sample_rate,
        rate_per_sum=job.rate_per_sum,
        clip=job.clip,
        noise_multiplier=job.noise_multiplier,
        seed=job.seed,
        where=where.ctypes.data,
        parameters=len(where),
    )
    none = GradientCanaries(np.zeros((0, len(where))), np.zeros(0, np.bool_))
    canaries = job.gradient_canaries or none
    m, inserted = len(canaries.inserted), np.ascontiguousarray(canaries.inserted)
    directions = kernel.spread(canaries.directions, where)
    found = CanaryProducts(np.zeros((job.steps, m)), np.zeros((job.steps, m)))
    recorded = Canaries(
        directions=directions.ctypes.data,
        inserted=inserted.ctypes.data,
        count=m,
        rate=canaries.rate(job.sample_rate),
        products=found.products.ctypes.data,
        background=found.background.ctypes.data,
    )
    chosen = np.zeros(max(len(job.y), m) + ROOM, np.int32)
    with kernel.worker() as worker:
        for first, last in _slices(job.steps):
            kernel.c.descend(
                worker,
                ctypes.byref(data),
                ctypes.byref(run),
                ctypes.byref(recorded),
                theta.ctypes.data,
                chosen.ctypes.data,
                first,
                last,
            )
    nn.utils.vector_to_parameters(torch.from_numpy(theta[where]), job.model.parameters())
    return found if job.gradient_canaries else None


def mc_dropout(model: nn.Sequential, x: Array, samples: int, seed: int) -> Array:
    """Class probabilities of `samples` passes with dropout on: (samples, records, classes)."""
    records = torch.as_tensor(x)
    kernel, theta, _ = _loaded(model, records)
    data, _kept = _data(kernel, model, records, None)
    out = np.zeros((samples, len(records), kernel.plan.classes), np.float32)
    with kernel.worker() as worker:
        for first, last in _slices(samples):
            kernel.c.mc_dropout(
                worker, ctypes.byref(data), theta.ctypes.data, first, last, seed, out.ctypes.data
            )
    return out


def _slices(total: int) -> Iterator[tuple[int, int]]:
    """Parts of some tenths of a second, between which Python handles signals.

    The results of steps and passes do not depend on how they are sliced.
    """
    first, at_once = 0, 1
    while first < total:
        last, began = min(first + at_once, total), time.perf_counter()
        yield first, last
        pace = (time.perf_counter() - began) / (last - first)
        first, at_once = last, max(1, int(SLICE / max(pace, 1e-6)))


def _loaded(model: nn.Sequential, x: Tensor) -> tuple[Library, Array, Array]:
    """The kernel of a model for such records, the model's parameters in it, and their places.

    Raises the error that says why there is no kernel.
    """
    try:
        kernel = library(plan(model, tuple(x.shape[1:])), compiler.FLAGS)
    except (UnfitNetwork, compiler.NoKernel) as reason:
        message = f"the native backend cannot train this network: {reason}"
        raise BadInput(message, reason.code, option=reason.option, value=reason.value) from reason
    flat = nn.utils.parameters_to_vector(model.parameters()).detach().numpy()
    where = kernel.where(len(flat))
    return kernel, kernel.spread(flat, where), where


def _data(
    kernel: Library, model: nn.Sequential, x: Tensor, y: Tensor | None
) -> tuple[NativeData, list[Array]]:
    """The kernel's input, and the arrays that must outlive it."""
    rows = kernel.records(x.detach().numpy())
    p = np.array([layer.p for layer in leaves(model) if isinstance(layer, nn.Dropout)])
    labels = np.zeros(len(rows), np.int32) if y is None else y.numpy().astype(np.int32)
    if len(labels) and not 0 <= labels.min() <= labels.max() < kernel.plan.classes:
        message = f"labels must be from 0 to {kernel.plan.classes - 1}"
        raise BadInput(message, "out-of-range", option="labels")
    data = NativeData(rows.ctypes.data, labels.ctypes.data, len(x), p.ctypes.data, len(p))
    return data, [rows, labels, p]
