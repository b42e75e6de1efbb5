"""What canaries are made from: a user's training data, and the form in which it came."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import data as sets
from dpaudit.canaries import crafted
from dpaudit.config.settings import Training
from dpaudit.data import csv_table, folder, npz
from dpaudit.data.arrays import record_hashes
from dpaudit.data.csv_table import Table
from dpaudit.errors import BadInput
from dpaudit.seeds import derive, generator
from dpaudit.training import networks
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Data, Records


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
        return Source(data, *npz.record_layout(path))
    if lower.endswith((".csv", ".csv.gz")):
        said = (options.get("label"), options.get("bounds", ()), options.get("ignore", ()))
        table = csv_table.table(path, *said)
        return Source(data, shape, np.dtype(np.float32), tested=False, table=table)
    if sets.absolute(source) != source or path.is_absolute():
        names, tested = folder.class_names(path)
        return Source(data, shape, np.dtype(np.uint8), tested, folders=names)
    return Source(data, shape, np.dtype(np.float32))


# ----------------------------------------------------------------
# The kinds of canaries that a kit can hold; which of them are trained on is no business of theirs.
#
# Each canary is another record: of two that are alike, the one that is in would speak for the other


AT_ONCE = 256
"""Records that noise is made for at a time."""

SHADOW = Training(steps=300, batch=128, lr=0.5, dropout=0.0)
"""How shadow models are trained: well, and without privacy, which is nobody's here."""

ROUNDS = 20
"""How often rows are drawn until there are enough different ones."""


@dataclass(frozen=True)
class Made:
    """Canaries: x float32 (n, channels, height, width), y int64, how they were made.

    Those of a table have `rows`, a cell for each of its columns.
    """

    x: Array
    y: Array
    how: str
    rows: Sequence[Sequence[str]] | None = None


def mislabelled(source: Source, count: int, seed: int) -> Made:
    """Records of the data under another label, which nothing else teaches a model."""
    table, records = source.table, source.records
    chosen = _chosen(source, records, count, seed)
    y = _wrong(records.y[chosen], source.data.classes, seed)
    rows = None
    if table is not None:
        at = table.cells.header.index(table.label)
        rows = [
            [*row[:at], table.classes.names[label], *row[at + 1 :]]
            for row, label in zip((table.cells.rows[i] for i in chosen), y, strict=True)
        ]
    return Made(records.x[chosen], y, "records of the data, each under a random wrong label", rows)


def adversarial(source: Source, count: int, seed: int) -> Made:
    """Records of the data with noise that shadow models find hardest, the label kept."""
    _refuse_table(source, "adv")
    data, records = source.data, source.apart
    chosen = _chosen(source, records, count, seed)
    name = _network(data.shape)
    recipe = Recipe(replace(SHADOW, network=name), data.shape, data.classes, clip=10.0)
    models = crafted.train_shadows(recipe, data, derive(seed, "kit"))
    x, y = records.x[chosen], records.y[chosen]
    inside = bool(records.x.min() >= 0 and records.x.max() <= 1)
    parts = [
        crafted.perturb_many(models, x[i : i + AT_ONCE], y[i : i + AT_ONCE], clip=inside)
        for i in range(0, count, AT_ONCE)
    ]
    how = (
        f"records of the data with adversarial noise from {len(models)} shadow models ({name}), "
        "under their own label"
    )
    return Made(np.concatenate(parts), y, how)


def blank(source: Source, count: int, seed: int) -> Made:
    """Empty records, told apart by a few marks: as few as give each its own."""
    _refuse_table(source, "blank")
    shape = source.data.shape
    room = prod(shape)
    marks = next((k for k in range(1, room + 1) if comb(room, k) >= count), None)
    if marks is None:
        most = comb(room, room // 2)
        said = f"records of {room} values have room for {most:,} blank canaries at most"
        raise BadInput(said, "too-large", option="count", value=count)
    draw = generator(seed, "kit", "blank")
    places: dict[frozenset[int], None] = {}
    while len(places) < count:
        drawn = draw.permutation(room)
        for i in range(0, room - marks + 1, marks):
            places.setdefault(frozenset(map(int, drawn[i : i + marks])))
    x = np.zeros((count, room), np.float32)
    ink = float(source.data.pool.x.max())
    for record, marked in zip(x, places, strict=False):
        record[list(marked)] = ink if ink > 0 else 1.0
    how = f"empty records, each with {marks} {'mark' if marks == 1 else 'marks'} of its own"
    y = _any(source.data.classes, count, seed)
    return Made(x.reshape(count, *shape), y, f"{how}, under random labels")


def random(source: Source, count: int, seed: int) -> Made:
    """Records of random values under random labels, which look like nobody's data."""
    y = _any(source.data.classes, count, seed)
    if source.table is not None:
        return _random_rows(source, y, seed)
    low, high = float(source.data.pool.x.min()), float(source.data.pool.x.max())
    x = generator(seed, "kit", "random").uniform(low, high, (count, *source.data.shape))
    return Made(x.astype(np.float32), y, "records of random values, under random labels")


KINDS: dict[str, Callable[[Source, int, int], Made]] = {
    "mislabelled": mislabelled,
    "adv": adversarial,
    "blank": blank,
    "random": random,
}


# ---------------------------------------------------------------- rows of a table


def _random_rows(source: Source, y: Array, seed: int) -> Made:
    """Rows that differ; of a table of few columns there may not be enough."""
    table, draw, count = source.table, generator(seed, "kit", "random"), len(y)
    assert table is not None
    drawn: dict[bytes, tuple[dict[str, str], Array]] = {}
    for _ in range(ROUNDS):
        cells, features = {}, []
        for name, block in table.blocks.items():
            cells[name], x = block.draw(count, draw)
            features.append(x)
        found = np.concatenate(features, axis=1)
        for i, mark in enumerate(record_hashes(found)):
            drawn.setdefault(mark, ({name: cells[name][i] for name in cells}, found[i]))
        if len(drawn) >= count:
            break
    else:
        raise BadInput(
            f"rows of {source.data.name} differ in too few ways for {count:,} canaries of which "
            f"each is another one ({len(drawn):,} were found); take fewer (--count)",
            "too-large",
            option="count",
            value=count,
        )
    kept = list(drawn.values())[:count]
    rows = []
    for (row, _), label in zip(kept, y, strict=True):
        row[table.label] = table.classes.names[label]
        rows.append([row.get(name, "") for name in table.cells.header])
    x = np.stack([x for _, x in kept])[:, None, None, :]
    return Made(x, y, "rows of random values, under random labels", rows)


def _refuse_table(source: Source, kind: str) -> None:
    if source.table is not None:
        raise BadInput(
            f"{kind} canaries of a table would be no rows of it; take --kind mislabelled or random",
            "not-for-tables",
            option="kind",
            value=kind,
        )


# ---------------------------------------------------------------- what is drawn


def _chosen(source: Source, records: Records, count: int, seed: int) -> Array:
    """Random records, no two of them with the same values."""
    order = generator(seed, "kit", "records").permutation(len(records))
    different = list(dict(zip(record_hashes(records.x[order]), order, strict=True)).values())
    if count > len(different):
        raise BadInput(
            f"{source.data.name} has {len(different):,} different records to make such canaries "
            f"of, not {count:,}; take fewer (--count), or --kind random",
            "too-large",
            option="count",
            value=count,
        )
    return np.array(different[:count])


def _wrong(y: Array, classes: int, seed: int) -> Array:
    away = generator(seed, "kit", "wrong labels").integers(1, classes, len(y))
    return np.asarray((y + away) % classes, dtype=np.int64)


def _any(classes: int, count: int, seed: int) -> Array:
    return generator(seed, "kit", "labels").integers(0, classes, count)


def _network(shape: tuple[int, ...]) -> str:
    try:
        networks.check("cnn-small", shape)
    except BadInput:
        return "mlp"
    return "cnn-small"
