"""Another tool's scores from a CSV or .npz file, or a refusal that says why they are unusable."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from dpaudit.checks import excerpt, refuse
from dpaudit.data import csv_text, npz
from dpaudit.data.csv_text import Cells, number
from dpaudit.errors import BadInput
from dpaudit.files import add_path
from dpaudit.results import Scores
from dpaudit.types import IN, OUT, Array

LONG, WIDE = ("world", "score"), ("out", "in")
WORLDS = {"0": OUT, "out": OUT, "1": IN, "in": IN}
COLUMNS = "name the columns world,score (world 0 or 1, out or in), or out,in"
ARRAYS = "save it with np.savez(path, out=..., inn=...)"


def read(path: str | os.PathLike[str]) -> Scores:
    """Read the scores of a .npz with arrays out and inn, or of a CSV file, in the file's order.

    A CSV file has either the columns world and score, a trial a row, or the columns out and in,
    a trial a cell; the cells below the end of the shorter column are empty.
    """
    file = Path(os.path.expanduser(path))
    with add_path(file):
        found = _arrays(file) if file.name.lower().endswith(".npz") else _table(csv_text.read(file))
        for name, scores in (("out", found.out), ("in", found.inn)):
            if not len(scores):
                text = f"it has no score of an {name}-trial; both worlds need one"
                raise BadInput(text, "no-scores", option=name)
            if wrong := int(np.isnan(scores).sum()):
                text = f"{wrong} of {len(scores)} scores of the {name}-trials are NaN; find out "
                text += "why, since leaving them out would choose among trials"
                raise BadInput(text, "not-a-number", option=name, value=wrong)
    return found


def _table(cells: Cells) -> Scores:
    header = [name.lower() for name in cells.header]
    if sorted(header) not in (sorted(LONG), sorted(WIDE)):
        there = excerpt([repr(name) for name in cells.header], most=8)
        text = f"it has the columns {there}; {COLUMNS}, and no others"
        raise BadInput(text, "wrong-columns", value=cells.header[:8])
    refuse([cells.ragged_problem()])
    columns = {name: [row[at] for row in cells.rows] for at, name in enumerate(header)}
    if "world" not in columns:
        out, inn = (_numbers(cells, columns[name], name) for name in WIDE)
        return Scores(out=out, inn=inn)
    for line, world in zip(cells.lines, columns["world"], strict=True):
        if world.lower() not in WORLDS:
            text = f"line {line} has the world '{world}'; write 0 or 1, out or in"
            raise BadInput(text, "unknown-choice", option="world", value=world[:40])
    scores = _numbers(cells, columns["score"], "score", gaps=False)
    worlds = np.array([WORLDS[world.lower()] for world in columns["world"]], dtype=int)
    return Scores(out=scores[worlds == OUT], inn=scores[worlds == IN])


def _numbers(cells: Cells, column: list[str], name: str, gaps: bool = True) -> Array:
    """The numbers of a column; with `gaps`, empty cells at its end are left out."""
    # An empty cell before the end would shift all pairs below it.
    while gaps and column and not column[-1]:
        column = column[:-1]
    for line, cell in zip(cells.lines, column, strict=False):
        if number(cell, finite=False) is None:
            shown = f"'{cell[:40]}'" if cell else "an empty cell"
            text = f"line {line} has {shown} under {name}; write a number, such as 0.5"
            raise BadInput(text, "not-a-number", option=name, value=cell[:40])
    return np.array([float(cell) for cell in column])


def _arrays(file: Path) -> Scores:
    arrays, there = npz.read_arrays(file, ("out", "inn", "in"), ARRAYS, "a .npz or .csv file")
    inn = "inn" if "inn" in arrays or "in" not in arrays else "in"
    if missing := [name for name in ("out", inn) if name not in arrays]:
        raise npz.missing_arrays(missing, there, ARRAYS)
    for name in ("out", inn):
        array = arrays[name]
        if array.ndim != 1 or array.dtype.kind not in "biuf":
            text = f"{name} must be a list of numbers, one a trial, not {array.dtype} of shape "
            code, value = (
                ("wrong-shape", array.shape)
                if array.ndim != 1
                else ("wrong-type", str(array.dtype))
            )
            raise BadInput(f"{text}{array.shape}; {ARRAYS}", code, option=name, value=value)
    return Scores(out=arrays["out"].astype(float), inn=arrays[inn].astype(float))
