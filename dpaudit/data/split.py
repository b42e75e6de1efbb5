"""Three disjoint sets from one, and smaller sets of the same kind; the seed alone decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dpaudit.checks import at_least, excerpt, refuse
from dpaudit.errors import BadInput
from dpaudit.seeds import derive
from dpaudit.types import Array, Data, Records

SHARES = (1000, 400, 397)
"""Parts of the pool, the shadow and the test set: the exact split of the digits' 1,797 records."""

FEWEST = 9
"""Records of a class that are enough for every set to get one, wherever the dealing starts."""


def split(
    name: str, records: Records, classes: int, seed: int, test: Records | None = None
) -> Data:
    """Split records into pool, shadow and test set, as 1000 : 400 : 397 in each class alike.

    A given test set is kept as it is, and the records make the pool and the shadow set, as 5 : 2.

    The records are shuffled, sorted by class and dealt out evenly, so that each class's part of
    each set is within two records of its fair share. The shuffle sorts the raw bits of PCG64,
    which numpy promises never to change, unlike its `permutation`.
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
    """The indices of each set's records, in the order of their random bits, not of their class."""
    by_class = np.lexsort((bits, y))
    dealt = deal(sizes)
    for part in range(len(sizes)):
        chosen = by_class[dealt == part]
        yield chosen[np.argsort(bits[chosen], kind="stable")]


def too_few(
    name: str, y: Array, classes: int, names: Sequence[object] | None = None
) -> Iterator[BadInput]:
    """The problem of classes that have too few records for all three sets.

    `names` are the user's names of the classes, if they are not called 0, 1, 2.
    """
    counts = np.bincount(y, minlength=classes)
    if (small := np.flatnonzero(counts < FEWEST)).size:
        found = [(str(names[int(c)] if names else c), int(counts[c])) for c in small]
        scarce = excerpt([f"class {called}: {count}" for called, count in found])
        text = f"{name} has too few records of some classes ({scarce}); add records "
        text += f"until each class has {FEWEST}, or leave those classes out"
        yield BadInput(text, "too-few-records", value=found[:5])


def sizes(n: int, shares: Sequence[int]) -> list[int]:
    """The size of each set of `n` records; the last one gets the remainder."""
    first = [n * share // sum(shares) for share in shares[:-1]]
    return [*first, n - sum(first)]


def deal(sizes: Sequence[int]) -> Array:
    """The set of each record in turn: each set's turns are evenly spread."""
    turns = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes if size])
    return np.repeat(np.arange(len(sizes)), sizes)[np.argsort(turns, kind="stable")]


def subset(data: Data, size: int, seed: int) -> Data:
    """Take exactly `size` records of the pool, and of the others in proportion.

    The proportion is 1000 : 400 : 397. A shadow or test set with fewer records than that stays
    whole; the pool does not, because an audit on a smaller D is another audit.
    """
    if size > (most := len(data.pool)):
        text = f"size must be at most {most}, the records that {data.name} has for D, not {size}"
        raise BadInput(text, "too-large", option="size", value=size)
    if lost := _lost_classes(data, size):
        # A tenth more each time: good enough for advice, and quick even for a large pool.
        larger = size
        while larger < most and _lost_classes(data, larger):
            larger = min(larger + larger // 10 + 1, most)
        way_out = "leave size out" if _lost_classes(data, larger) else f"{larger} is enough"
        text = f"with a size of {size}, the pool or the shadow set of {data.name} has no record of "
        text += f"some classes ({excerpt([f'class {c}' for c in lost])}); {way_out}"
        raise BadInput(text, "classes-lost", option="size", value=size)
    pool, shadow, test = (
        _some(getattr(data, name), wanted, derive(seed, "data", "subset", name))
        for name, wanted in zip(("pool", "shadow", "test"), _subset_sizes(data, size), strict=True)
    )
    return replace(data, pool=pool, shadow=shadow, test=test)


def _subset_sizes(data: Data, size: int) -> list[int]:
    pool, shadow, test = (size * share // SHARES[0] for share in SHARES)
    return [pool, min(shadow, len(data.shadow)), min(max(1, test), len(data.test))]


def _some(part: Records, size: int, seed: int) -> Records:
    if size == len(part):
        return part
    bits = np.random.PCG64(seed).random_raw(len(part))
    chosen = next(portions(part.y, [size, len(part) - size], bits))
    return Records(part.x[chosen], part.y[chosen])


def _lost_classes(data: Data, size: int) -> list[int]:
    """The classes of the pool or the shadow set of which a subset would have no record.

    The test set does not count: nothing is trained on it. No seed is needed: the numbers of
    records alone decide how many of each class are dealt.
    """
    lost: set[int] = set()
    for part, wanted in zip((data.pool, data.shadow), _subset_sizes(data, size), strict=False):
        if wanted < len(part):
            kept = np.sort(part.y)[deal([wanted, len(part) - wanted]) == 0]
            lost |= set(np.setdiff1d(part.y, kept).tolist())
    return sorted(lost)
