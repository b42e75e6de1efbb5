"""Another tool's scores from a file, or one sentence that says why they cannot be used."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dpaudit.checks import listed
from dpaudit.data import csv_text, npz
from dpaudit.data.csv_text import Cells
from dpaudit.errors import BadInput
from dpaudit.results import Scores
from dpaudit.types import IN, OUT, Array

LONG, WIDE = ("world", "score"), ("out", "in")
WORLDS = {"0": OUT, "out": OUT, "1": IN, "in": IN}
COLUMNS = "name the columns world,score (world 0 or 1, out or in), or out,in"
ARRAYS = "save it with np.savez(path, out=..., inn=...)"


def read(path: str | os.PathLike[str]) -> Scores:
    """The scores of a .npz with arrays out and inn, or of a CSV file, each world in its order.

    A CSV file has either the columns world and score, a trial a row, or the columns out and in,
    a trial a cell; below the end of the shorter one of these cells are empty.
    """
    file = Path(os.path.expanduser(path))
    found = _arrays(file) if file.name.lower().endswith(".npz") else _table(file)
    for name, scores in (("out", found.out), ("in", found.inn)):
        if not len(scores):
            said = f"it has no score of an {name}-trial; both worlds need one"
            raise BadInput(f"{file}: {said}", "no-scores", option=name)
        if wrong := int(np.isnan(scores).sum()):
            raise BadInput(
                f"{file}: {wrong} of {len(scores)} scores of the {name}-trials are NaN; see what "
                "became of those trials, since leaving them out would choose among trials",
                "not-a-number",
                option=name,
                value=wrong,
            )
    return found


# ---------------------------------------------------------------- CSV


def _table(file: Path) -> Scores:
    cells = csv_text.read(file)
    header = [name.lower() for name in cells.header]
    if sorted(header) not in (sorted(LONG), sorted(WIDE)):
        there = listed([repr(name) for name in cells.header], most=8)
        said = f"it has the columns {there}; {COLUMNS}, and no others"
        raise BadInput(f"{file}: {said}", "wrong-columns", value=cells.header[:8])
    if cells.ragged:
        raise BadInput(
            f"{file}: a line needs {len(header)} cells, but {listed(cells.ragged, most=3)}",
            "ragged-rows",
            value=cells.ragged[:5],
        )
    columns = {name: [row[at] for row in cells.rows] for at, name in enumerate(header)}
    if "world" in columns:
        return _long(file, cells, columns["world"], columns["score"])
    out, inn = (_column(file, cells, name, columns[name]) for name in WIDE)
    return Scores(out=out, inn=inn)


def _long(file: Path, cells: Cells, worlds: Sequence[str], scores: Sequence[str]) -> Scores:
    found: dict[int, list[float]] = {OUT: [], IN: []}
    for line, world, score in zip(cells.lines, worlds, scores, strict=True):
        if world.lower() not in WORLDS:
            said = f"line {line} has the world '{world}'; write 0 or 1, out or in"
            raise BadInput(f"{file}: {said}", "unknown-choice", option="world", value=world[:40])
        found[WORLDS[world.lower()]].append(_number(file, line, score))
    return Scores(out=np.array(found[OUT]), inn=np.array(found[IN]))


def _column(file: Path, cells: Cells, name: str, column: Sequence[str]) -> Array:
    # An empty cell before the end would shift all pairs below it.
    filled = max((i + 1 for i, cell in enumerate(column) if cell), default=0)
    lines = cells.lines[:filled]
    return np.array(
        [_number(file, line, cell, name) for line, cell in zip(lines, column, strict=False)]
    )


def _number(file: Path, line: int, cell: str, column: str = "score") -> float:
    try:
        return float(cell)
    except ValueError:
        shown = f"'{cell[:40]}'" if cell else "an empty cell"
        raise BadInput(
            f"{file}: line {line} has {shown} under {column}; write a number, such as 0.5",
            "not-a-number",
            option=column,
            value=cell[:40],
        ) from None


# ---------------------------------------------------------------- npz


def _arrays(file: Path) -> Scores:
    found, there = npz.named(file, ("out", "inn", "in"), ARRAYS, "a .npz or .csv file")
    inn = "inn" if "inn" in found or "in" not in found else "in"
    if missing := [name for name in ("out", inn) if name not in found]:
        has = listed([repr(name) for name in there], most=8) or "nothing"
        said = f"it has no {', no '.join(missing)} (it has {has}); {ARRAYS}"
        raise BadInput(f"{file}: {said}", "missing-arrays", value=missing)
    out, inside = (_scores(file, name, found[name]) for name in ("out", inn))
    return Scores(out=out, inn=inside)


def _scores(file: Path, name: str, array: Array) -> Array:
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise BadInput(
            f"{file}: {name} must be a list of numbers, one a trial, not {array.dtype} of shape "
            f"{array.shape}; {ARRAYS}",
            "wrong-shape" if array.ndim != 1 else "wrong-type",
            option=name,
            value=array.shape if array.ndim != 1 else str(array.dtype),
        )
    return array.astype(float)
