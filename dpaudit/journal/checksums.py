"""Checksums of what a journal holds.

Every array, and every text of settings and facts, has one; a trial's covers its index, world, seed
and seconds, and the checksums of its arrays by name. So an array is checked when it is read, one
at a time, and a trial without reading its arrays. They find damage; they do not protect
against somebody who changes a journal on purpose.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from itertools import chain

SIZE = 16
"""Bytes of a checksum; damage goes unnoticed with a chance of 2^-128."""


def checksum(*parts: object) -> bytes:
    """The BLAKE2b digest of texts, numbers and bytes, in their order."""
    digest = hashlib.blake2b(digest_size=SIZE)
    for part in parts:
        # Quotes tell a text from a number; lengths tell where a part ends.
        content = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.digest()


def trial_checksum(
    index: int, world: int, seed: int, seconds: float, arrays: Iterable[tuple[str, bytes]]
) -> bytes:
    """The checksum of a trial, from the names and checksums of its arrays in the order of names."""
    return checksum(index, world, seed, seconds, *chain.from_iterable(arrays))
