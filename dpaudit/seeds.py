"""Seeds: every random number of a run comes from its root seed and a stated purpose."""

from __future__ import annotations

import hashlib

import numpy as np

from dpaudit.types import IN, OUT, Trial


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


def trials(root: int, models: int) -> list[Trial]:
    """All trials of a run: worlds exactly balanced and taken in turn."""
    return [
        Trial(index=index, world=world, seed=derive(root, "trial", world, index))
        for index in range(models // 2)
        for world in (OUT, IN)
    ]
