"""Training without side effects: random generators and torch's threads are put back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

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
    """Restore all random states and torch's number of threads on exit; imports no torch.

    If torch is imported meanwhile, it is left as after an import: with a seed of the system's.
    """
    python, numpy, fresh = random.getstate(), np.random.get_state(), "torch" not in sys.modules
    try:
        with nullcontext() if fresh else _restored_torch():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        if fresh and "torch" in sys.modules:
            import torch

            torch.seed()
            if _threads:
                torch.set_num_threads(_threads[0])


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
