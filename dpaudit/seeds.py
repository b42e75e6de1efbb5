"""Seeds: every random number of a run comes from its root seed and a stated purpose."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable

import numpy as np

from dpaudit.types import IN, OUT, Array, Trial

ALONE = threading.RLock()
"""Held while global generators are in use: they are a process's, and a worker may have threads."""


def derive(root: int, *purpose: str | int) -> int:
    """A 63-bit seed for a purpose, e.g. ('canary', 'random') or ('trial', world, index).

    Purposes are hashed, so that seeds for different purposes are unrelated and a new
    purpose never shifts the seeds of the others.
    """
    text = "/".join(map(str, (root, *purpose)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(root: int, *purpose: str | int) -> np.random.Generator:
    """A numpy generator for a purpose."""
    return np.random.default_rng(derive(root, *purpose))


def trial_seed(root: int, world: int, index: int) -> int:
    """A trial's 63-bit seed, whose low 32 bits no other trial of the run has.

    They are all that torch's generator keeps of a seed; were they random too, two of some ten
    thousand trials would share their noise now and then.
    """
    high = derive(root, "trial", world, index) >> 32
    # An odd factor permutes the numbers below 2^32.
    low = (derive(root, "trials") + (2 * index + world) * 0x9E3779B1) % 2**32
    return high << 32 | low


def stream(seed: int, purpose: str) -> int:
    """The seed of one of a trial's own random streams; distinct trials keep distinct bits."""
    return seed ^ derive(0, "stream", purpose)


def coins(seed: int, number: int) -> Array:
    """A trial's fair coins, one for each of its canaries: True, and it is put in."""
    return np.asarray(generator(seed, "coins").random(number) < 0.5)


def row_seeds(root: int, rows: Iterable[tuple[str | int, ...]]) -> Array:
    """A number for each row, by what tells it from the others: what its defence may draw from.

    Hashed, so that it has nothing to do with what the row holds, nor with other rows' numbers.
    """
    return np.array([derive(root, "own", *row) for row in rows], dtype=np.uint64)


def only_trial(root: int) -> Trial:
    """The one trial of a run whose canaries are in by coins; so it is in neither world, or both."""
    return Trial(index=0, world=IN, seed=trial_seed(root, IN, 0))


def trials(root: int, models: int) -> list[Trial]:
    """All trials of a run: worlds exactly balanced and taken in turn."""
    return [
        Trial(index=index, world=world, seed=trial_seed(root, world, index))
        for index in range(models // 2)
        for world in (OUT, IN)
    ]
