"""Labels as a block of each row, and how many records of each are drawn."""

from __future__ import annotations

import numpy as np

from dpaudit.seeds import generator
from dpaudit.types import Array, Records


def with_labels(records: Records, classes: int) -> Array:
    """Records in rows, each followed by its label as a block of zeros with a one."""
    flat = np.asarray(records.x, dtype=np.float64).reshape(len(records), -1)
    return np.concatenate([flat, np.eye(classes)[records.y]], axis=1)


def proportions(records: Records, classes: int, noise: float, seed: int) -> Array:
    """The labels' shares; their counts have noise of s sqrt(2), what replacing one moves."""
    counts = np.bincount(records.y, minlength=classes).astype(np.float64)
    counts += noise * np.sqrt(2) * generator(seed, "labels").normal(size=classes)
    counts = np.maximum(counts, 1.0)
    return np.asarray(counts / counts.sum())


def shared(shares: Array, n: int) -> Array:
    """Whole numbers of n by proportion: the largest remainders are rounded up."""
    exact = shares * n
    whole = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - whole), kind="stable")[: n - whole.sum()]
    whole[most] += 1
    return np.asarray(whole)
