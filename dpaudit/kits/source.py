"""What canaries are made from: a user's training data, and the form in which it came."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import data as sets
from dpaudit.data import csv_table, folder, npz
from dpaudit.data.csv_table import Table
from dpaudit.types import Data, Records


@dataclass(frozen=True)
class Source:
    """Training data, and how its records lie where they come from.

    `shape` and `dtype` are those of one record there. A table's records have rows beside them,
    and those of a folder of images the names of their classes' folders.
    """

    data: Data
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    table: Table | None = None
    folders: Sequence[str] | None = None

    @property
    def records(self) -> Records:
        """All that is certainly trained on: where a test set came with it, that is left alone."""
        pool, shadow = self.data.pool, self.data.shadow
        return Records(np.concatenate([pool.x, shadow.x]), np.concatenate([pool.y, shadow.y]))


def opened(source: str, seed: int, options: Mapping[str, Any]) -> Source:
    """The data of a name or path, read as `dpaudit run` reads it."""
    data = sets.load(source, seed, **options)
    flat = data.shape[:2] == (1, 1)
    shape = data.shape[2:] if flat else data.shape
    path = Path(os.path.expanduser(source))
    lower = source.lower()
    if lower.endswith(".npz"):
        return Source(data, *npz.layout(path))
    if lower.endswith((".csv", ".csv.gz")):
        said = (options.get("label"), options.get("bounds", ()), options.get("ignore", ()))
        return Source(data, shape, np.dtype(np.float32), table=csv_table.table(path, *said))
    if sets.absolute(source) != source or path.is_absolute():
        return Source(data, shape, np.dtype(np.uint8), folders=folder.class_names(path))
    return Source(data, shape, np.dtype(np.float32))
