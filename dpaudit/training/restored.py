"""A process as it was before a training: its random generators, and torch's threads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def restored() -> Iterator[None]:
    """Whatever is drawn or set within, afterwards all is as it was: nobody else's draws shift."""
    threads, python, numpy = torch.get_num_threads(), random.getstate(), np.random.get_state()
    # A device that nobody has used yet has no state to keep, and asking would start it.
    used = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(devices=list(used)):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)
            torch.set_num_threads(threads)
