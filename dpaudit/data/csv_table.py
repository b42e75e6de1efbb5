"""A user's table: a CSV file, its label column, and the public bounds of its numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from dpaudit.checks import excerpt, refuse
from dpaudit.data.csv_text import (
    Categories,
    Cells,
    Interval,
    categories,
    looks_numeric,
    parse_bounds,
    read,
)
from dpaudit.data.split import split, too_few
from dpaudit.errors import BadInput
from dpaudit.files import add_path
from dpaudit.protocols import Loader
from dpaudit.types import Data, Records

MOST_VALUES = 20
"""Distinct numbers of a column that is taken for categories; one with more needs bounds."""

MOST_FEATURES = 10_000
MOST_CLASSES = 1_000


@dataclass(frozen=True)
class Csv(Loader):
    """Your own table: a .csv or .csv.gz file with a header; --label names its class column.

    Give the file's path and say what its columns are, such as --data people.csv --label income
    --bounds age=0:120 --bounds hours=0:100 --ignore id. The label's different values, sorted,
    are the classes 0, 1, 2 and so on: at least 2, each with at least 9 records.

    A column with --bounds COLUMN=LOW:HIGH is a number: clipped to the bounds and scaled to
    [0, 1]. Every other column is categorical: one feature, 0 or 1, for each of its distinct
    values, an empty cell being one of them. A column of more than 20 distinct numbers must have
    bounds, or be left out with --ignore COLUMN. Bounds, and the categories that occur, are
    assumed to be public knowledge: state bounds that you know without looking at the data,
    because a smallest or largest value in the data reveals the record that has it.

    The file is UTF-8, with commas, semicolons or tabs between the cells; blanks around a cell
    are dropped. The seed splits the records of each class alike: 1000 parts in 1797 become the
    pool for D, 400 shadow models' own and 397 the test set. --ignore a column that
    marks records for training and testing: it is not used for that. All problems of a file are
    reported at once.
    """

    path: str | os.PathLike[str]
    label: str | None = None
    bounds: Sequence[str] = ()
    ignore: Sequence[str] = ()

    def load(self, seed: int) -> Data:
        path = Path(os.path.expanduser(self.path))
        with add_path(path):
            found = table(path, self.label, self.bounds, self.ignore)
            return split(path.name, found.records, len(found.classes.names), seed)


@dataclass(frozen=True)
class CsvTable:
    """A file's records in the order of its rows, and the cells that they were made from."""

    records: Records
    classes: Categories
    cells: Cells
    label: str
    blocks: Mapping[str, Interval | Categories]
    """The meaning of each column that is learned from."""


def table(path: Path, label: str | None, bounds: Sequence[str], ignore: Sequence[str]) -> CsvTable:
    """Read all records of a file; refuse it with all its problems at once."""
    cells = read(path)
    intervals, wrong = parse_bounds(bounds)
    wrong += _name_problems(cells.header, label, intervals, ignore)
    # The cells are checked only if it is known what their columns are.
    known = not wrong
    wrong += _row_problems(cells)
    if label is None or not known or not cells.rows:
        refuse(wrong, about=str(path))
        raise AssertionError("a table without label, names or rows has a problem")
    classes = categories(cells.column(label))
    wrong += _label_problems(cells, label, classes)
    blocks: dict[str, Interval | Categories] = {}
    unbounded: list[str] = []
    for name in cells.header:
        if name in intervals:
            wrong += _number_problems(cells, name)
            blocks[name] = intervals[name]
        elif name != label and name not in ignore:
            column = cells.column(name)
            if looks_numeric(column, MOST_VALUES):
                unbounded.append(name)
            else:
                blocks[name] = categories(column)
    wrong += _size_problems(unbounded, blocks)
    refuse(wrong, about=str(path))
    features = [
        block.one_hot() if isinstance(block, Categories) else block.features(cells.column(name))
        for name, block in blocks.items()
    ]
    x = np.concatenate(features, axis=1)[:, None, None, :]
    return CsvTable(Records(x, classes.codes), classes, cells, label, blocks)


def _name_problems(
    header: Sequence[str],
    label: str | None,
    intervals: Mapping[str, Interval],
    ignore: Sequence[str],
) -> Iterator[BadInput]:
    columns = f"it has {_quoted(header, most=40)}"
    if nameless := [at for at, name in enumerate(header, 1) if not name]:
        text = f"name columns {excerpt(nameless)} in the header (pandas: to_csv(index=False))"
        yield BadInput(text, "column-nameless", value=nameless[:5])
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        text = f"the header has {_quoted(twice)} more than once; give each its own name"
        yield BadInput(text, "column-twice", value=twice[:5])
    if label is None:
        text = f"name the column of the classes with --label COLUMN; {columns}"
        yield BadInput(text, "needs-label", option="label")
    roles = {"label": [] if label is None else [label], "bounds": intervals, "ignore": ignore}
    for option, name in ((option, name) for option, names in roles.items() for name in names):
        if name not in header:
            near = get_close_matches(name, header, n=1)
            hint = f"did you mean {near[0]!r}?" if near else columns
            text = f"there is no column {name!r} for --{option}; {hint}"
            yield BadInput(text, "unknown-column", option=option, value=name)
    for option in ("bounds", "ignore"):
        if label in roles[option]:
            text = f"{label!r} is the label; leave its --{option} out"
            yield BadInput(text, "two-roles", option=option, value=label)
    if both := [name for name in intervals if name in ignore]:
        text = f"{_quoted(both)} cannot have both --bounds and --ignore; leave one of them out"
        yield BadInput(text, "two-roles", option="ignore", value=both[:5])
    if set(header) <= {label, *ignore}:
        text = "no column is left to learn from; ignore fewer"
        yield BadInput(text, "no-features", option="ignore")


def _quoted(texts: Sequence[str], most: int = 5) -> str:
    """A list of texts, each as its repr: it may hold line breaks or a terminal's control codes."""
    return excerpt([repr(it if len(it) <= 40 else f"{it[:40]}...") for it in texts], most)


def _row_problems(cells: Cells) -> Iterator[BadInput]:
    if (ragged := cells.ragged_problem()) is not None:
        yield ragged
    elif not cells.rows:
        yield BadInput("it has a header and no records; add records", "no-records")


def _label_problems(cells: Cells, label: str, classes: Categories) -> Iterator[BadInput]:
    count = len(classes.names)
    cited = zip(cells.lines, cells.column(label), strict=True)
    if empty := [line for line, cell in cited if not cell]:
        yield _empty_cells(label, empty, "leave those records out")
    elif count < 2:
        only = _quoted(classes.names)
        text = f"the label {label!r} has a single class ({only}); an audit needs at least 2"
        yield BadInput(text, "single-class", option=label, value=classes.names[0])
    elif count > MOST_CLASSES:
        text = f"the label {label!r} has {count} distinct values, more than {MOST_CLASSES}; "
        text += "name a column of classes with --label"
        yield BadInput(text, "too-many-classes", option=label, value=count)
    else:
        names = [_quoted([name]) for name in classes.names]
        yield from too_few(f"the label {label!r}", classes.codes, count, names)


def _number_problems(cells: Cells, name: str) -> Iterator[BadInput]:
    wrong = cells.not_numbers(name)
    if empty := [line for line, cell in wrong if not cell]:
        yield _empty_cells(name, empty, "leave those records out or --ignore the column")
    if other := [(line, cell) for line, cell in wrong if cell]:
        cited = excerpt([f"line {line}: {_quoted([cell])}" for line, cell in other])
        text = f"{name!r} has bounds but {len(other)} cells are no finite number ({cited})"
        shown = [(line, cell[:40]) for line, cell in other[:5]]
        yield BadInput(text, "not-a-number", option=name, value=shown)


def _empty_cells(name: str, lines: Sequence[int], way_out: str) -> BadInput:
    text = (
        f"{name!r} is empty in {len(lines)} records (line {excerpt(lines)}); fill it in, {way_out}"
    )
    return BadInput(text, "empty-cells", option=name, value=lines[:5])


def _size_problems(
    unbounded: Sequence[str], blocks: Mapping[str, Interval | Categories]
) -> Iterator[BadInput]:
    if unbounded:
        # The smallest and largest value are not shown: bounds must be known without the data.
        text = (
            f"more than {MOST_VALUES} distinct numbers in {_quoted(unbounded, most=40)}; for each "
            f"state public bounds, such as --bounds {unbounded[0]}=LOW:HIGH, or --ignore it"
        )
        yield BadInput(text, "needs-bounds", option="bounds", value=list(unbounded[:40]))
    counts = {n: len(b.names) if isinstance(b, Categories) else 1 for n, b in blocks.items()}
    if (total := sum(counts.values())) > MOST_FEATURES:
        most = sorted(counts, key=lambda name: -counts[name])
        largest = excerpt([f"{_quoted([name])}: {counts[name]}" for name in most])
        text = (
            f"columns make {total} features, more than {MOST_FEATURES} ({largest}); --ignore some"
        )
        yield BadInput(text, "too-many-features", value=total)
