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
    tested: bool = True
    """Whether a test set came with it: that is not trained on, and left alone."""
    table: Table | None = None
    folders: Sequence[str] | None = None

    @property
    def records(self) -> Records:
        """All that is trained on."""
        if self.table is not None:
            return self.table.records
        return joined([self.apart, self.data.shadow])

    @property
    def apart(self) -> Records:
        """What of it shadow models are not trained on."""
        return self.data.pool if self.tested else joined([self.data.pool, self.data.test])


def joined(parts: Sequence[Records]) -> Records:
    """Records one after the other."""
    return Records(np.concatenate([p.x for p in parts]), np.concatenate([p.y for p in parts]))


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
        table = csv_table.table(path, *said)
        return Source(data, shape, np.dtype(np.float32), tested=False, table=table)
    if sets.absolute(source) != source or path.is_absolute():
        names, tested = folder.class_names(path)
        return Source(data, shape, np.dtype(np.uint8), tested, folders=names)
    return Source(data, shape, np.dtype(np.float32))
