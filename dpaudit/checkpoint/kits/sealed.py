"""The coins of a kit, sealed: committed to before the training, opened after it.

The commitment is the SHA-256 of the sealed file. Whoever has it can tell later that the coins, the
canaries that they are about and all that is said of them are those of before the training. A random
salt in the file keeps it from telling the coins.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.seeds import coins as seeded
from dpaudit.seeds import derive
from dpaudit.types import Array

VERSION = 2


@dataclass(frozen=True)
class Sealed:
    """A coin for each canary, '1' in and '0' out, a salt, and the hash of what is public."""

    coins: str
    salt: str
    public: str
    version: int = VERSION

    def content(self) -> bytes:
        """The sealed file."""
        return (json.dumps(asdict(self), indent=1) + "\n").encode()

    @property
    def put_in(self) -> Array:
        """Which canaries were put in."""
        return np.array([coin == "1" for coin in self.coins])


def sealed(count: int, public: str, seed: int | None) -> Sealed:
    """Fair and independent coins from the operating system; with a seed, for tests, from that."""
    if seed is None:
        drawn = np.array([secrets.randbits(1) for _ in range(count)], dtype=bool)
        salt = secrets.token_hex(32)
    else:
        drawn = seeded(derive(seed, "kit", "coins"), count)
        salt = f"{derive(seed, 'kit', 'salt'):064x}"
    return Sealed("".join("1" if coin else "0" for coin in drawn), salt, public)


def commitment(content: bytes) -> str:
    """What is published of a sealed file beforehand."""
    return hashlib.sha256(content).hexdigest()


def unsealed(content: bytes, where: str) -> Sealed:
    """What a sealed file holds."""
    try:
        told = json.loads(content)
        found = Sealed(**told)
        good = found.version == VERSION and set(found.coins) <= {"0", "1"} and bool(found.coins)
    except (ValueError, TypeError, RecursionError):
        good = False
    if not good:
        said = "it holds no coins that this dpaudit can read"
        raise BadInput(f"{where}: {said}", "wrong-format", value=where)
    return found
