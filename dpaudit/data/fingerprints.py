"""Hashes by which a run knows its data again."""

from __future__ import annotations

import hashlib

import numpy as np

from dpaudit.types import Array, Records


def fingerprint(about: str, *parts: Records, **given: Array) -> str:
    """SHA-256 of some words and of all that training can see: shapes, types and bytes."""
    digest = hashlib.sha256(about.encode())

    def add(name: str, array: Array) -> None:
        digest.update(f"; {name}{array.shape} {array.dtype.str} ".encode())
        digest.update(np.ascontiguousarray(array).data)

    for part in parts:
        add("", part.x)
        add("", part.y)
    for name in sorted(given):
        add(f"{name} ", given[name])
    return digest.hexdigest()


def marks(records: Array) -> list[bytes]:
    """A short hash of the values of each record, by which equal ones are found."""
    rows = np.ascontiguousarray(records)
    return [hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows]
