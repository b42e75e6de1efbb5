"""A process as it was before a training: its random generators, and torch's threads."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

_threads: list[int] = []
"""The number of threads that torch began with, once it has been changed."""


def one_thread() -> None:
    """Let torch use one thread: more would change the order of sums, and so the last bits."""
    import torch

    if not _threads:
        _threads.append(torch.get_num_threads())
    torch.set_num_threads(1)


@contextmanager
def isolated() -> Iterator[None]:
    """Restore all random states and torch's number of threads on exit; imports no torch."""
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with _restored_torch() if "torch" in sys.modules else _unused_torch():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _restored_torch() -> Iterator[None]:
    import torch

    threads = torch.get_num_threads()
    # A device that nobody has used yet has no state to keep, and asking would start it.
    used = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=list(used)):
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextmanager
def _unused_torch() -> Iterator[None]:
    """Leave torch, if it is imported meanwhile, as after an import: with a seed of the system's."""
    try:
        yield
    finally:
        if "torch" in sys.modules:
            import torch

            torch.seed()
            if _threads:
                torch.set_num_threads(_threads[0])
