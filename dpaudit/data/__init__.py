"""Data sets, each split into a pool for D, a disjoint pool for shadow models and a test set."""

from __future__ import annotations

import os
from collections.abc import Sequence

from dpaudit.checks import at_least, refuse
from dpaudit.data import fingerprints
from dpaudit.data.source import absolute, loader
from dpaudit.data.split import subset
from dpaudit.errors import wrap_errors
from dpaudit.types import Data

__all__ = ["absolute", "fingerprint", "load"]


def load(
    source: str,
    seed: int = 0,
    *,
    size: int | None = None,
    root: str | os.PathLike[str] | None = None,
    download: bool = False,
    label: str | None = None,
    bounds: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Data:
    """The data set of that name, or of the file or folder at that path, split by the seed.

    A path ends in .npz, .csv or .csv.gz, or is that of a folder of images; a folder that is
    called like a data set is meant by ./name. With `size`, the pool is a subset of so many
    records, and the other sets are smaller accordingly. The other options go to the loaders
    that ask for them: `root` and `download` say where downloaded sets lie and whether they may
    be fetched; `label`, `bounds` and `ignore` say what the columns of a table are.
    """
    refuse([None if size is None else at_least("size", size, 1)])
    options = {
        "root": root,
        "download": bool(download),
        "label": label,
        "bounds": _texts(bounds),
        "ignore": _texts(ignore),
    }
    with wrap_errors(f"the data set {source}"):
        data = loader(source, options).load(seed)
        if not isinstance(data, Data):
            raise TypeError(f"it gave back {type(data).__name__}, not Data")
    return data if size is None else subset(data, size, seed)


def fingerprint(data: Data) -> str:
    """SHA-256 of all that training can see: shapes, types, bytes and the number of classes.

    A run that resumes on other data would be no run at all; its configuration holds this.
    """
    return fingerprints.fingerprint(f"classes {data.classes}", data.pool, data.shadow, data.test)


def _texts(said: Sequence[str]) -> tuple[str, ...]:
    """Several texts; a single one is not taken for its letters."""
    return (said,) if isinstance(said, str) else tuple(said)
