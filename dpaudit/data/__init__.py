"""Data sets, each split into a pool for D, a disjoint pool for shadow models and a test set."""

from __future__ import annotations

import hashlib

import numpy as np

from dpaudit import registry
from dpaudit.data.npz import Npz
from dpaudit.errors import BadInput
from dpaudit.protocols import Loader
from dpaudit.types import Data


def load(source: str, seed: int = 0) -> Data:
    """The data set of that name, or of the .npz file at that path, split by the seed."""
    return _loader(source).load(seed)


def fingerprint(data: Data) -> str:
    """SHA-256 of all that training can see: shapes, types, bytes and the number of classes.

    A run that resumes on other data would be no run at all; its configuration holds this.
    """
    digest = hashlib.sha256(f"classes {data.classes}".encode())
    for part in (data.pool, data.shadow, data.test):
        for array in (part.x, part.y):
            digest.update(f"; {array.shape} {array.dtype.str} ".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _loader(source: str) -> Loader:
    if source.lower().endswith(".npz"):
        return Npz(source)
    try:
        loader: Loader = registry.make("data", source)
    except BadInput as error:
        raise BadInput(f"{error} (a file is named by its path, which ends in .npz)") from error
    return loader
