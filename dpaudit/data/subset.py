"""A smaller data set of the same kind: fewer records, each class in its fair share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpaudit.checks import listed, refuse
from dpaudit.data.split import SHARES, deal, portions
from dpaudit.errors import BadInput
from dpaudit.seeds import derive
from dpaudit.types import Data, Records

NAMES = ("pool", "shadow", "test")


def subset(data: Data, size: int, seed: int) -> Data:
    """Exactly `size` records of the pool, and of the others as many as 1000 : 400 : 397 says.

    Where the shadow or the test set has fewer than that, it stays whole; the pool does not,
    because a smaller D than was asked for would be another audit. Which records they are is
    decided by the seed alone.
    """
    refuse([_too_large(data, size)])
    refuse(_vanished(data, size))
    pool, shadow, test = (
        _some(getattr(data, name), wanted, derive(seed, "data", "subset", name))
        for name, wanted in zip(NAMES, _sizes(data, size), strict=True)
    )
    return replace(data, pool=pool, shadow=shadow, test=test)


def _sizes(data: Data, size: int) -> list[int]:
    pool, shadow, test = (size * share // SHARES[0] for share in SHARES)
    return [pool, min(shadow, len(data.shadow)), min(max(1, test), len(data.test))]


def _some(part: Records, size: int, seed: int) -> Records:
    if size == len(part):
        return part
    bits = np.random.PCG64(seed).random_raw(len(part))
    chosen = next(portions(part.y, [size, len(part) - size], bits))
    return Records(part.x[chosen], part.y[chosen])


# ---------------------------------------------------------------- what cannot be


def _too_large(data: Data, size: int) -> BadInput | None:
    most = len(data.pool)
    if size <= most:
        return None
    said = f"size must be at most {most}, the records that {data.name} has for D, not {size}"
    return BadInput(said, "too-large", option="size", value=size)


def _vanished(data: Data, size: int) -> Iterator[BadInput]:
    lost = _lost(data, size)
    if not lost:
        return
    # By a tenth each time: good enough for advice, and quick even for a large pool.
    larger = size
    while larger < len(data.pool) and _lost(data, larger):
        larger = min(larger + larger // 10 + 1, len(data.pool))
    way_out = "leave size out" if _lost(data, larger) else f"{larger} is enough"
    yield BadInput(
        f"with a size of {size}, the pool or the shadow set of {data.name} has no record of some "
        f"classes ({listed([f'class {c}' for c in lost])}); {way_out}",
        "classes-lost",
        option="size",
        value=size,
    )


def _lost(data: Data, size: int) -> list[int]:
    """The classes that the pool or the shadow set has, but would have no more.

    Not the test set's: nothing is trained on it. No seed is needed: how many of each class
    are dealt depends on their numbers alone.
    """
    lost: set[int] = set()
    for part, wanted in zip((data.pool, data.shadow), _sizes(data, size)[:2], strict=True):
        if wanted < len(part):
            kept = np.sort(part.y)[deal([wanted, len(part) - wanted]) == 0]
            lost |= set(np.setdiff1d(part.y, kept).tolist())
    return sorted(lost)
