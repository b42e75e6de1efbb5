"""The kinds of canaries that a kit can hold, and the training data that they are made from.

No kind knows which canaries are trained on. Each canary is another record: of two equal ones, the
one that is in would speak for the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, prod
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import data as data_sets
from dpaudit.canaries import crafted
from dpaudit.config.settings import Training
from dpaudit.data import csv_table, folder, npz
from dpaudit.data.arrays import record_hashes
from dpaudit.data.csv_table import CsvTable
from dpaudit.errors import BadInput
from dpaudit.seeds import derive, generator
from dpaudit.training import networks
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Data, Records

AT_ONCE = 256
"""Records that noise is made for at a time."""

SHADOW = Training(steps=300, batch=128, lr=0.5, dropout=0.0)
"""Training of the shadow models, without privacy: nobody's privacy is at stake in them."""

ROUNDS = 20
"""Draws of rows until there are enough distinct ones."""


@dataclass(frozen=True)
class TrainingData:
    """A user's data, and the form in which they came.

    `shape` and `dtype` are those of one record there. A table's records have rows beside them,
    and those of a folder of images the names of their classes' folders.
    """

    data: Data
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    tested: bool = True
    """True if they came with a test set: that is not trained on, and left alone."""
    table: CsvTable | None = None
    folders: Sequence[str] | None = None

    @property
    def records(self) -> Records:
        """All records that are trained on."""
        if self.table is not None:
            return self.table.records
        return _joined([self.apart, self.data.shadow])

    @property
    def apart(self) -> Records:
        """The records that shadow models are not trained on."""
        return self.data.pool if self.tested else _joined([self.data.pool, self.data.test])


def _joined(parts: Sequence[Records]) -> Records:
    return Records(np.concatenate([p.x for p in parts]), np.concatenate([p.y for p in parts]))


def read_data(source: str, seed: int, options: Mapping[str, Any]) -> TrainingData:
    """Read the data of a name or path as `dpaudit run` does."""
    data = data_sets.load(source, seed, **options)
    shape = data.shape[2:] if data.shape[:2] == (1, 1) else data.shape
    path = Path(os.path.expanduser(source))
    if source.lower().endswith(".npz"):
        return TrainingData(data, *npz.record_layout(path))
    if source.lower().endswith((".csv", ".csv.gz")):
        columns = (options.get("label"), options.get("bounds", ()), options.get("ignore", ()))
        table = csv_table.table(path, *columns)
        return TrainingData(data, shape, np.dtype(np.float32), tested=False, table=table)
    if data_sets.absolute(source) != source or path.is_absolute():
        names, tested = folder.class_names(path)
        return TrainingData(data, shape, np.dtype(np.uint8), tested, folders=names)
    return TrainingData(data, shape, np.dtype(np.float32))


@dataclass(frozen=True)
class CanarySet:
    """Canaries: x float32 (n, channels, height, width), y int64, a description in words.

    Those of a table have `rows`, a cell for each of its columns.
    """

    x: Array
    y: Array
    how: str
    rows: Sequence[Sequence[str]] | None = None


def mislabelled(training: TrainingData, count: int, seed: int) -> CanarySet:
    """Records of the data under a wrong label, which no other record teaches a model."""
    table, records, classes = training.table, training.records, training.data.classes
    chosen = _choose(training, records, count, seed)
    away = generator(seed, "kit", "wrong labels").integers(1, classes, count)
    y = np.asarray((records.y[chosen] + away) % classes, dtype=np.int64)
    rows = None
    if table is not None:
        at = table.cells.header.index(table.label)
        rows = [
            [*row[:at], table.classes.names[label], *row[at + 1 :]]
            for row, label in zip((table.cells.rows[i] for i in chosen), y, strict=True)
        ]
    how = "records of the data, each under a random wrong label"
    return CanarySet(records.x[chosen], y, how, rows)


def adversarial(training: TrainingData, count: int, seed: int) -> CanarySet:
    """Records of the data with noise that shadow models find hardest, the label kept."""
    _refuse_table(training, "adv")
    data, records = training.data, training.apart
    chosen = _choose(training, records, count, seed)
    try:
        name = "cnn-small"
        networks.check(name, data.shape)
    except BadInput:
        name = "mlp"
    recipe = Recipe(replace(SHADOW, network=name), data.shape, data.classes, clip=10.0)
    models = crafted.train_shadows(recipe, data, derive(seed, "kit"))
    x, y = records.x[chosen], records.y[chosen]
    inside = bool(records.x.min() >= 0 and records.x.max() <= 1)
    parts = [
        crafted.perturb_many(models, x[i : i + AT_ONCE], y[i : i + AT_ONCE], clip=inside)
        for i in range(0, count, AT_ONCE)
    ]
    how = f"records of the data with adversarial noise from {len(models)} shadow models ({name}), "
    return CanarySet(np.concatenate(parts), y, f"{how}under their own label")


def blank(training: TrainingData, count: int, seed: int) -> CanarySet:
    """Empty records, each with as few marks as make all of them distinct."""
    _refuse_table(training, "blank")
    shape = training.data.shape
    room = prod(shape)
    marks = next((k for k in range(1, room + 1) if comb(room, k) >= count), None)
    if marks is None:
        most = comb(room, room // 2)
        text = f"records of {room} values have room for at most {most:,} blank canaries"
        raise BadInput(text, "too-large", option="count", value=count)
    draw = generator(seed, "kit", "blank")
    places: dict[frozenset[int], None] = {}
    while len(places) < count:
        order = draw.permutation(room)
        for i in range(0, room - marks + 1, marks):
            places.setdefault(frozenset(map(int, order[i : i + marks])))
    x = np.zeros((count, room), np.float32)
    ink = float(training.data.pool.x.max())
    for record, place in zip(x, places, strict=False):
        record[list(place)] = ink if ink > 0 else 1.0
    how = f"empty records, each with {marks} {'mark' if marks == 1 else 'marks'} of its own"
    y = _random_labels(training, count, seed)
    return CanarySet(x.reshape(count, *shape), y, f"{how}, under random labels")


def random(training: TrainingData, count: int, seed: int) -> CanarySet:
    """Records of random values under random labels, unlike any record of the data."""
    y = _random_labels(training, count, seed)
    if training.table is not None:
        return _random_rows(training.table, training.data.name, y, seed)
    pool = training.data.pool.x
    shape = (count, *training.data.shape)
    x = generator(seed, "kit", "random").uniform(float(pool.min()), float(pool.max()), shape)
    return CanarySet(x.astype(np.float32), y, "records of random values, under random labels")


KINDS: dict[str, Callable[[TrainingData, int, int], CanarySet]] = {
    "mislabelled": mislabelled,
    "adv": adversarial,
    "blank": blank,
    "random": random,
}


def _random_rows(table: CsvTable, data: str, y: Array, seed: int) -> CanarySet:
    """Distinct rows; a table of few columns may not have enough."""
    draws, count = generator(seed, "kit", "random"), len(y)
    distinct: dict[bytes, tuple[dict[str, str], Array]] = {}
    for _ in range(ROUNDS):
        cells, features = {}, []
        for name, block in table.blocks.items():
            cells[name], values = block.draw(count, draws)
            features.append(values)
        found = np.concatenate(features, axis=1)
        for i, mark in enumerate(record_hashes(found)):
            distinct.setdefault(mark, ({name: cells[name][i] for name in cells}, found[i]))
        if len(distinct) >= count:
            break
    else:
        there = f"{len(distinct):,} distinct rows of {data}"
        text = f"not {count:,} but {there} were found; lower --count"
        raise BadInput(text, "too-large", option="count", value=count)
    kept = list(distinct.values())[:count]
    rows = []
    for (row, _), label in zip(kept, y, strict=True):
        row[table.label] = table.classes.names[label]
        rows.append([row.get(name, "") for name in table.cells.header])
    x = np.stack([x for _, x in kept])[:, None, None, :]
    return CanarySet(x, y, "rows of random values, under random labels", rows)


def _refuse_table(training: TrainingData, kind: str) -> None:
    if training.table is not None:
        text = f"{kind} canaries would be no rows of a table; take --kind mislabelled or random"
        raise BadInput(text, "not-for-tables", option="kind", value=kind)


def _choose(training: TrainingData, records: Records, count: int, seed: int) -> Array:
    """The indices of random records, no two of them with the same values."""
    order = generator(seed, "kit", "records").permutation(len(records))
    distinct = list(dict(zip(record_hashes(records.x[order]), order, strict=True)).values())
    if count > len(distinct):
        text = f"{training.data.name} has {len(distinct):,} distinct records to make such canaries "
        text += f"of, not {count:,}; take fewer (--count), or --kind random"
        raise BadInput(text, "too-large", option="count", value=count)
    return np.array(distinct[:count])


def _random_labels(training: TrainingData, count: int, seed: int) -> Array:
    return generator(seed, "kit", "labels").integers(0, training.data.classes, count)
