"""Three disjoint sets from one: which record goes where is decided by the seed alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dpaudit.checks import at_least, listed, refuse
from dpaudit.errors import BadInput
from dpaudit.seeds import derive
from dpaudit.types import Array, Data, Records

SHARES = (1000, 400, 397)
"""Pool, shadow and test: what the digits' 1,797 records are split into, exactly."""

FEWEST = 9
"""So many records of a class are dealt to every set, wherever the dealing starts."""


def split(
    name: str, records: Records, classes: int, seed: int, test: Records | None = None
) -> Data:
    """Pool, shadow and test set, as 1000 : 400 : 397 and in each class alike.

    A test set that exists already is kept as it is, and the records make the pool and the
    shadow set, as 5 : 2.

    The records are shuffled, put in order of their class and dealt out evenly, so that each
    class's part of each set is within two records of its fair share. The shuffle sorts the
    raw bits of PCG64, which numpy promises never to change, unlike its `permutation`.
    """
    refuse([at_least("seed", seed, 0), *too_few(name, records.y, classes)])
    shares = SHARES if test is None else SHARES[:2]
    bits = np.random.PCG64(derive(seed, "data", "split")).random_raw(len(records))
    parts = [
        Records(records.x[chosen], records.y[chosen])
        for chosen in portions(records.y, sizes(len(records), shares), bits)
    ]
    pool, shadow, rest = parts if test is None else (*parts, test)
    return Data(name, pool=pool, shadow=shadow, test=rest, classes=classes)


def portions(y: Array, sizes: Sequence[int], bits: Array) -> Iterator[Array]:
    """Which records each set gets, in the order of their random bits, not of their class."""
    by_class = np.lexsort((bits, y))
    dealt = deal(sizes)
    for part in range(len(sizes)):
        chosen = by_class[dealt == part]
        yield chosen[np.argsort(bits[chosen], kind="stable")]


def too_few(
    name: str, y: Array, classes: int, names: Sequence[object] | None = None
) -> Iterator[BadInput]:
    """The problem of classes that are too small for all sets to get some of them.

    `names` are what the user calls the classes, where they are not called 0, 1, 2.
    """
    counts = np.bincount(y, minlength=classes)
    small = np.flatnonzero(counts < FEWEST)
    if small.size:
        found = [(str(names[int(c)] if names else c), int(counts[c])) for c in small]
        counted = listed([f"class {called}: {count}" for called, count in found])
        yield BadInput(
            f"{name} has too few records of some classes ({counted}); "
            f"add records until each class has {FEWEST}, or leave those classes out",
            "too-few-records",
            value=found[:5],
        )


def sizes(n: int, shares: Sequence[int]) -> list[int]:
    """How many of `n` records each set gets; the last one gets what rounding leaves."""
    first = [n * share // sum(shares) for share in shares[:-1]]
    return [*first, n - sum(first)]


def deal(sizes: Sequence[int]) -> Array:
    """The set that each record in turn goes to: each set's turns are evenly spread."""
    turns = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes if size])
    return np.repeat(np.arange(len(sizes)), sizes)[np.argsort(turns, kind="stable")]


# ----------------------------------------------------------------
# A smaller data set of the same kind: fewer records, each class in its fair share.


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
