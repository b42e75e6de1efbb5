"""Seeds: every random number of a run follows from its root seed and a purpose."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable

import numpy as np

from dpaudit.types import IN, OUT, Array, Trial

ALONE = threading.RLock()
"""Lock on the process's global generators, which the threads of a worker share."""


def derive(root: int, *purpose: str | int) -> int:
    """Return a 63-bit seed for a purpose, such as ('canary', 'random') or ('trial', world, index).

    Purposes are hashed: their seeds are unrelated, and a new purpose does not shift the others.
    """
    text = "/".join(map(str, (root, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(root: int, *purpose: str | int) -> np.random.Generator:
    """Return a numpy generator for a purpose."""
    return np.random.default_rng(derive(root, *purpose))


def trial_seed(root: int, world: int, index: int) -> int:
    """Return a trial's 63-bit seed, whose low 32 bits no other trial of the run has.

    Torch's generator keeps only those. Were they random, two of ten thousand trials would
    sometimes share their noise.
    """
    high = derive(root, "trial", world, index) >> 32
    # An odd factor permutes the numbers below 2^32.
    low = (derive(root, "trials") + (2 * index + world) * 0x9E3779B1) % 2**32
    return high << 32 | low


def stream(seed: int, purpose: str) -> int:
    """Return the seed of one of a trial's streams; distinct trials keep distinct bits."""
    return seed ^ derive(0, "stream", purpose)


def coins(seed: int, number: int) -> Array:
    """Return a trial's fair coins, one a canary: True if the canary is put in."""
    return np.asarray(generator(seed, "coins").random(number) < 0.5)


def row_seeds(root: int, rows: Iterable[tuple[str | int, ...]]) -> Array:
    """Return a seed for each row, from its identity, for defences that draw.

    It is a hash, independent of the row's content and of other rows' seeds.
    """
    return np.array([derive(root, "own", *row) for row in rows], dtype=np.uint64)


def only_trial(root: int) -> Trial:
    """Return the one trial of a run whose canaries are in by coins; its world has no meaning."""
    return Trial(index=0, world=IN, seed=trial_seed(root, IN, 0))


def trials(root: int, models: int) -> list[Trial]:
    """Return all trials of a run, the worlds in turn."""
    return [
        Trial(index=index, world=world, seed=trial_seed(root, world, index))
        for index in range(models // 2)
        for world in (OUT, IN)
    ]
