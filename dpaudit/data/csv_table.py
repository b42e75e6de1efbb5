"""A user's own table: a CSV file, its label column, and the public bounds of its numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from dpaudit.checks import listed, refuse
from dpaudit.data.csv_text import (
    Categories,
    Cells,
    Interval,
    categories,
    measured,
    number,
    parse_bounds,
    read,
)
from dpaudit.data.split import split, too_few
from dpaudit.errors import BadInput
from dpaudit.protocols import Loader
from dpaudit.types import Array, Data, Records

MOST_VALUES = 20
"""A column of numbers with more different ones than that is measured, not a category."""

MOST_FEATURES = 10_000
MOST_CLASSES = 1_000


@dataclass(frozen=True)
class Csv(Loader):
    """Your own table: a .csv or .csv.gz file with a header; --label names its class column.

    Give the file's path and say what its columns are, such as --data people.csv --label income
    --bounds age=0:120 --bounds hours=0:100 --ignore id. The label's different values, sorted,
    are the classes 0, 1, 2 and so on: at least 2, each on at least 9 records.

    A column with --bounds COLUMN=LOW:HIGH is a number: clipped to the bounds and scaled to
    [0, 1]. Every other column is categorical: one feature, 0 or 1, for each of its different
    values, an empty cell being one of them. A column of more than 20 different numbers must
    have bounds, or be left out with --ignore COLUMN. Bounds, and the categories that occur, are
    taken to be public knowledge: state bounds that you know without looking at the data, because
    a smallest or largest value that is looked up tells on the record that has it.

    The file is UTF-8, with commas, semicolons or tabs between the cells; blanks around a cell
    are dropped. The seed splits the records of each class alike: 1000 parts in 1797 become the
    pool for D, 400 shadow models' own and 397 the test set. A column that says which records
    were for training and which for testing is not used for that; --ignore it. All problems of
    a file are reported at once.
    """

    path: str | os.PathLike[str]
    label: str | None = None
    bounds: Sequence[str] = ()
    ignore: Sequence[str] = ()

    def load(self, seed: int) -> Data:
        path = Path(os.path.expanduser(self.path))
        try:
            found = table(path, self.label, self.bounds, self.ignore)
            return split(path.name, found.records, len(found.classes.names), seed)
        except MemoryError as error:
            said = "it does not fit into memory; use fewer records"
            raise BadInput(f"{path}: {said}", "out-of-memory", value=str(path)) from error


@dataclass(frozen=True)
class Table:
    """A file's records in the order of its rows, and what they were made of."""

    records: Records
    classes: Categories
    cells: Cells
    label: str
    blocks: Mapping[str, Interval | Categories]
    """What each column that is learned from holds."""


def table(path: Path, label: str | None, bounds: Sequence[str], ignore: Sequence[str]) -> Table:
    """All records of a file."""
    cells = read(path)
    intervals, wrong = parse_bounds(bounds)
    wrong += _name_problems(cells.header, label, intervals, ignore)
    # What the columns hold is looked into only where it is known what they are.
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
            if measured(column, MOST_VALUES):
                unbounded.append(name)
            else:
                blocks[name] = categories(column)
    wrong += _bound_problems(unbounded)
    wrong += _feature_problems(blocks)
    refuse(wrong, about=str(path))
    x = np.concatenate([_features(cells, name, block) for name, block in blocks.items()], axis=1)
    records = Records(x[:, None, None, :], classes.codes)
    return Table(records, classes, cells, label, blocks)


def _features(cells: Cells, name: str, block: Interval | Categories) -> Array:
    if isinstance(block, Categories):
        return block.one_hot()
    numbers = np.array([float(cell) for cell in cells.column(name)])
    return block.scaled(numbers).astype(np.float32)[:, None]


# ---------------------------------------------------------------- names


def _name_problems(
    header: Sequence[str],
    label: str | None,
    intervals: Mapping[str, Interval],
    ignore: Sequence[str],
) -> Iterator[BadInput]:
    if nameless := [at for at, name in enumerate(header, 1) if not name]:
        yield BadInput(
            f"the header has no name for the columns {listed(nameless)}; name them "
            "(or leave pandas' index out with to_csv(index=False))",
            "column-nameless",
            value=nameless[:5],
        )
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        said = f"the header has {listed(_quoted(twice))} more than once; give each its own name"
        yield BadInput(said, "column-twice", value=twice[:5])
    if label is None:
        yield BadInput(
            "name the column of the classes with --label COLUMN; "
            f"it has {listed(_quoted(header), most=40)}",
            "needs-label",
            option="label",
        )
    asked = [("label", label or "")] if label is not None else []
    asked += [("bounds", name) for name in intervals]
    asked += [("ignore", name) for name in ignore]
    for option, name in asked:
        if name not in header:
            near = get_close_matches(name, header, n=1)
            there = f"it has {listed(_quoted(header), most=40)}"
            hint = f"did you mean {near[0]!r}?" if near else there
            said = f"there is no column {name!r} for --{option}; {hint}"
            yield BadInput(said, "unknown-column", option=option, value=name)
    if label in intervals:
        said = f"{label!r} is the label, which has no bounds; leave its --bounds out"
        yield BadInput(said, "two-roles", option="bounds", value=label)
    if label is not None and label in ignore:
        said = f"{label!r} is the label, which cannot be ignored; leave its --ignore out"
        yield BadInput(said, "two-roles", option="ignore", value=label)
    if both := [name for name in intervals if name in ignore]:
        said = f"{listed(_quoted(both))} cannot have --bounds and be ignored; leave one of them out"
        yield BadInput(said, "two-roles", option="ignore", value=both[:5])
    if set(header) <= {label, *ignore}:
        said = "no column is left to learn from; ignore fewer"
        yield BadInput(said, "no-features", option="ignore")


def _quoted(names: Sequence[str]) -> list[str]:
    # As repr does it: a name may hold a line break or a terminal's control codes.
    return [_short(name) for name in names]


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")


# ---------------------------------------------------------------- values


def _row_problems(cells: Cells) -> Iterator[BadInput]:
    if cells.ragged:
        yield BadInput(
            f"{len(cells.ragged)} rows do not have the {len(cells.header)} cells that the header "
            f"has ({listed(cells.ragged)}); mend them or leave them out",
            "ragged-rows",
            value=cells.ragged[:5],
        )
    elif not cells.rows:
        yield BadInput("it has a header and no records; add records", "no-records")


def _label_problems(cells: Cells, label: str, classes: Categories) -> Iterator[BadInput]:
    count = len(classes.names)
    if empty := [line for line, cell in _lines(cells, label) if not cell]:
        yield BadInput(
            f"the label {label!r} is empty in {len(empty)} records (line {listed(empty)}); "
            "fill it in or leave them out",
            "empty-cells",
            option=label,
            value=empty[:5],
        )
    elif count < 2:
        only = _short(classes.names[0])
        said = f"the label {label!r} has a single class ({only}); an audit needs at least 2"
        yield BadInput(said, "single-class", option=label, value=classes.names[0])
    elif count > MOST_CLASSES:
        yield BadInput(
            f"the label {label!r} has {count} different values, more than {MOST_CLASSES}; "
            "name a column of classes with --label",
            "too-many-classes",
            option=label,
            value=count,
        )
    else:
        name = f"the label {label!r}"
        yield from too_few(name, classes.codes, count, _quoted(classes.names))


def _number_problems(cells: Cells, name: str) -> Iterator[BadInput]:
    bad = [(line, cell) for line, cell in _lines(cells, name) if number(cell) is None]
    if empty := [line for line, cell in bad if not cell]:
        yield BadInput(
            f"{name!r} is empty in {len(empty)} of {len(cells.rows)} records "
            f"(line {listed(empty)}); fill it in, leave them out or --ignore the column",
            "empty-cells",
            option=name,
            value=empty[:5],
        )
    if other := [(line, cell[:40]) for line, cell in bad if cell]:
        cited = listed([f"line {line}: {_short(cell)}" for line, cell in bad if cell])
        said = f"{name!r} has bounds but {len(other)} cells are no finite number ({cited})"
        yield BadInput(said, "not-a-number", option=name, value=other[:5])


def _bound_problems(unbounded: Sequence[str]) -> Iterator[BadInput]:
    # The smallest and largest value are not told: bounds must be known without the data.
    if len(unbounded) == 1:
        yield BadInput(
            f"{_short(unbounded[0])} holds more than {MOST_VALUES} different numbers; "
            f"state public bounds with --bounds {unbounded[0]}=LOW:HIGH, or --ignore it",
            "needs-bounds",
            option="bounds",
            value=list(unbounded),
        )
    elif unbounded:
        yield BadInput(
            f"{listed(_quoted(unbounded), most=40)} hold more than {MOST_VALUES} different numbers "
            f"each; state public bounds with --bounds {unbounded[0]}=LOW:HIGH and so on, "
            "or --ignore them",
            "needs-bounds",
            option="bounds",
            value=unbounded[:40],
        )


def _feature_problems(blocks: Mapping[str, Interval | Categories]) -> Iterator[BadInput]:
    counts = {n: len(b.names) if isinstance(b, Categories) else 1 for n, b in blocks.items()}
    if sum(counts.values()) > MOST_FEATURES:
        most = sorted(counts, key=lambda name: -counts[name])
        said = listed([f"{_short(name)}: {counts[name]}" for name in most])
        yield BadInput(
            f"its columns make {sum(counts.values())} features, more than {MOST_FEATURES} "
            f"({said}); --ignore columns that name single records",
            "too-many-features",
            value=sum(counts.values()),
        )


def _lines(cells: Cells, name: str) -> Iterator[tuple[int, str]]:
    return zip(cells.lines, cells.column(name), strict=True)
