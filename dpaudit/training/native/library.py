"""A compiled kernel: torch's values into its layout, its functions by ctypes, and back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from torch import Tensor

from dpaudit.training.native import compiler
from dpaudit.training.native.plan import Form, NativePlan
from dpaudit.types import Array

KEPT, DROPPED = 65535, 0
"""A given mask in the kernel's terms: the largest and the smallest random number."""

LINE = 16
"""Floats in a cache line."""

LANES = 16
"""Random numbers that are drawn side by side, as in random.h."""

ROOM = 4 * LANES
"""Integers behind the chosen records, which the kernel may overwrite."""

_pointer, _double = ctypes.c_void_p, ctypes.c_double
_int32, _int64 = ctypes.c_int32, ctypes.c_int64
_uint32, _uint64 = ctypes.c_uint32, ctypes.c_uint64

_SIGNATURES: dict[str, list[Any]] = {
    "create": [_pointer],
    "destroy": [None, _pointer],
    "vector_width": [_int32],
    "record_step": [_int32],
    "parameters": [_int32],
    "layout": [None, _pointer],
    "clipped_sum": [None, *[_pointer] * 4, _double, _pointer],
    "descend": [None, *[_pointer] * 6, _int64, _int64],
    "mc_dropout": [None, *[_pointer] * 3, _int64, _int64, _uint64, _pointer],
    "threefry_blocks": [None, _uint64, _uint32, _uint32, _pointer],
}
"""The kernel's functions: the type of the result, then those of the arguments."""


class NativeData(ctypes.Structure):
    """Records and dropout rates, laid out as `Data` in worker.h."""

    _fields_ = (
        ("x", _pointer),
        ("y", _pointer),
        ("records", _int64),
        ("p", _pointer),
        ("layers", _int32),
    )


class NativeRun(ctypes.Structure):
    """A descent's settings, laid out as `Run` in worker.h."""

    _fields_ = (
        ("sample_rate", _double),
        ("rate_per_sum", _double),
        ("clip", _double),
        ("noise_multiplier", _double),
        ("seed", _uint64),
        ("where", _pointer),
        ("parameters", _int64),
    )


class Canaries(ctypes.Structure):
    """Gradient canaries, laid out as `Canaries` in worker.h."""

    _fields_ = (
        ("directions", _pointer),
        ("inserted", _pointer),
        ("count", _int64),
        ("rate", _double),
        ("products", _pointer),
        ("background", _pointer),
    )


class Library:
    """The functions of one compiled kernel, with arrays in its layout."""

    def __init__(self, plan: NativePlan, c: ctypes.CDLL) -> None:
        self.plan, self.c = plan, c
        for name, (result, *arguments) in _SIGNATURES.items():
            function = getattr(self.c, name)
            function.argtypes, function.restype = arguments, result
        self.lanes: int = self.c.vector_width()

    @contextmanager
    def worker(self) -> Iterator[int]:
        """The working memory of one thread."""
        worker = self.c.create()
        if not worker:
            raise MemoryError
        try:
            yield worker
        finally:
            self.c.destroy(worker)

    def spread(self, values: Array, where: Array) -> Array:
        """Values in torch's order, row by row, in the kernel's; zero where it has padding."""
        shape = (*values.shape[:-1], self.c.parameters())
        # A vector that begins on a cache line is loaded in half the time.
        room = np.zeros(prod(shape) + LINE, np.float32)
        begin = -room.ctypes.data % (4 * LINE) // 4
        spread = room[begin : begin + prod(shape)].reshape(shape)
        spread[..., where] = values
        return spread

    def where(self, parameters: int) -> Array:
        """The index in the kernel of each of torch's parameters."""
        where = np.zeros(parameters, np.int32)
        self.c.layout(where.ctypes.data)
        return where

    def records(self, x: Array) -> Array:
        """Records in the kernel's layout, with a vector of slack behind the last."""
        form, (top, left) = self.plan.input, self.plan.padding
        channels = form.channels if self.plan.packed else _up(form.channels, self.lanes)
        height, width = form.height + 2 * top, form.width + 2 * left
        step: int = self.c.record_step()
        rows = np.zeros((len(x) + 1, step), np.float32)
        images = np.lib.stride_tricks.as_strided(
            rows,
            (len(x), height, width, channels),
            (rows.strides[0], 4 * width * channels, 4 * channels, 4),
        )
        inner = images[:, top : top + form.height, left : left + form.width, : form.channels]
        inner[...] = x.reshape(-1, form.channels, form.height, form.width).transpose(0, 2, 3, 1)
        return rows

    def masks(self, masks: Sequence[Tensor]) -> list[Array]:
        """Dropout masks in the kernel's layout."""
        pairs = zip(masks, self.plan.dropouts, strict=True)
        return [_mask(mask.numpy(), form) for mask, form in pairs]


def _mask(mask: Array, form: Form) -> Array:
    shape = (len(mask), form.height, form.width, _up(form.channels, LANES))
    drawn = np.full(shape, DROPPED, np.uint16)
    planes = mask.reshape(-1, form.channels, form.height, form.width).transpose(0, 2, 3, 1)
    drawn[..., : form.channels] = np.where(planes, KEPT, DROPPED)
    return drawn


@lru_cache(maxsize=64)
def library(plan: NativePlan, flags: tuple[str, ...]) -> Library:
    """The library of a plan, compiled if there is none yet, and loaded once a process.

    A kernel that does not load is compiled anew: it is damaged, or the system's libraries changed.
    """
    for anew in (False, True):
        path = str(compiler.kernel(plan.source(), flags, anew))
        try:
            return Library(plan, ctypes.CDLL(path))
        except OSError as error:
            message = " ".join(str(error).split())
    raise compiler.NoKernel(
        f"its kernel cannot be loaded: {message}", "file-unreadable", value=path
    )


def _up(value: int, to: int) -> int:
    return -(-value // to) * to
