"""The text of a CSV file: its cells, and columns of cells as numbers or categories."""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

import numpy as np

from dpaudit import files
from dpaudit.checks import excerpt
from dpaudit.errors import BadInput
from dpaudit.files import add_path, open_file
from dpaudit.types import Array

DELIMITERS = (",", ";", "\t")

MOST_BYTES = 1 << 29
"""Of text, which takes ten times that in memory; a small .gz can hold any amount.

A fifth of `files.memory_limit` if that is less.
"""

MOST_ROW = 1 << 20
"""Characters of a row: a hundred for each of ten thousand columns."""

GZIP = b"\x1f\x8b"
"""The first bytes of a compressed file."""

Text: TypeAlias = "io.TextIOWrapper[BinaryIO | gzip.GzipFile]"


class Ragged(NamedTuple):
    """A row with another number of cells than the header."""

    line: int
    cells: int

    def __str__(self) -> str:
        return f"line {self.line} has {self.cells}"


@dataclass(frozen=True)
class Cells:
    """A table as text: each row has a cell for each name of the header, without outer blanks."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    """The line of the file where each row ends, counted from 1 as an editor does."""
    ragged: Sequence[Ragged]
    """Rows with another number of cells, which are not among `rows`."""

    def column(self, name: str) -> list[str]:
        """The cells under a name."""
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def not_numbers(self, name: str) -> list[tuple[int, str]]:
        """The line and the text of each cell under a name that is no finite number."""
        cells = zip(self.lines, self.column(name), strict=True)
        return [(line, cell) for line, cell in cells if number(cell) is None]

    def ragged_problem(self) -> BadInput | None:
        """The problem of rows that have more or fewer cells than the header."""
        if not self.ragged:
            return None
        text = f"{len(self.ragged)} rows do not have the {len(self.header)} cells of the header "
        text += f"({excerpt(self.ragged)}); correct them or leave them out"
        return BadInput(text, "ragged-rows", value=self.ragged[:5])


def read(path: Path) -> Cells:
    """Return the cells of a file; refuse one whose encoding, quotes or size are wrong."""
    with open_file(path, "a .csv or .csv.gz file") as file, add_path(path):
        packed = path.name.lower().endswith(".gz")
        content: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=file) if packed else file
        try:
            with io.TextIOWrapper(content, "utf-8-sig", newline="") as text:
                return _cells(text)
        except csv.Error as error:
            message = f"it is not a CSV file ({error}); save it again"
            raise BadInput(message, "wrong-format", value=str(path)) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            message = f"it is cut short, damaged or not gzip ({error}); save it again"
            raise BadInput(message, "file-damaged", value=str(path)) from error


def _cells(text: Text) -> Cells:
    # For each delimiter only the first row is read, to see which of them suits.
    delimiter = max(DELIMITERS, key=lambda it: len(_first_row(text, it)))
    rows = _rows(text, delimiter)
    _, header = next(rows, (0, []))
    good, lines, ragged = [], [], []
    for line, row in rows:
        if len(row) == len(header):
            good.append(row)
            lines.append(line)
        else:
            ragged.append(Ragged(line, len(row)))
    if not any(header) and not good and not ragged:
        raise BadInput("it is empty; the first line names the columns", "file-empty")
    return Cells(header, good, lines, ragged)


def _first_row(text: Text, delimiter: str) -> list[str]:
    try:
        return next(_rows(text, delimiter), (0, []))[1]
    except csv.Error:
        return []  # the quotes suit another delimiter


def _rows(text: Text, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, row) of each row that is not blank, from the beginning of a file on."""
    length = 0

    def lines() -> Iterator[str]:
        nonlocal length
        for line in _lines(text):
            length += len(line)  # a cell in quotes may have many lines
            if length > MOST_ROW:
                message = f"a row has more than {MOST_ROW:,} characters; check line ends and quotes"
                raise BadInput(message, "row-too-long", value=MOST_ROW)
            yield line

    # Strict: a quote that is never closed would otherwise take in the rest of the file.
    reader = csv.reader(lines(), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            length = 0
            if row:
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: {error}") from error


def _lines(text: Text) -> Iterator[str]:
    """The lines of a file, each with its end and of bounded length."""
    most, number = min(MOST_BYTES, files.memory_limit() // 5), 1
    not_text = "it is not text; save it as CSV (compressed: .csv.gz), in UTF-8"
    text.seek(0)
    try:
        while line := text.readline(MOST_ROW + 1):
            if "\0" in line:
                raise BadInput(not_text, "not-text")
            if text.buffer.tell() > most:
                message = f"it holds more than {most >> 20} MiB of text; use fewer records"
                raise BadInput(message, "file-too-large", value=most)
            yield line
            number += 1
    except UnicodeDecodeError as error:
        if error.object.startswith(GZIP):
            raise BadInput(not_text, "not-text") from error
        number += error.object.count(b"\n", 0, error.start)
        message = f"line {number} is not UTF-8; save the file as UTF-8"
        raise BadInput(message, "not-utf8", value=number) from error


# ---------------------------------------------------------------- columns


@dataclass(frozen=True)
class Interval:
    """The range of a number by public knowledge; never taken from the data."""

    low: float
    high: float

    def scaled(self, numbers: Array) -> Array:
        """Numbers clipped to the interval and scaled to [0, 1]."""
        return (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)

    def features(self, cells: Sequence[str]) -> Array:
        """One feature: the scaled number of each cell."""
        numbers = np.array([float(cell) for cell in cells])
        return self.scaled(numbers).astype(np.float32)[:, None]

    def draw(self, count: int, draws: np.random.Generator) -> tuple[list[str], Array]:
        """Draw random cells; return them and their features."""
        cells = [f"{x:.6g}" for x in draws.uniform(self.low, self.high, count)]
        return cells, self.features(cells)


@dataclass(frozen=True)
class Categories:
    """A column of `names`, and the index of each row's name."""

    names: Sequence[str]
    codes: Array

    def one_hot(self) -> Array:
        """One feature a name: 1 for the rows that have it, else 0."""
        return np.eye(len(self.names), dtype=np.float32)[self.codes]

    def draw(self, count: int, draws: np.random.Generator) -> tuple[list[str], Array]:
        """Draw random cells; return them and their features."""
        codes = draws.integers(0, len(self.names), count)
        return [self.names[code] for code in codes], Categories(self.names, codes).one_hot()


def number(cell: str, finite: bool = True) -> float | None:
    """The number in a cell; None if there is none, or if it must be `finite` and is not."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # 1_000 is a number to Python only.
    return None if "_" in cell or (finite and not math.isfinite(value)) else value


def categories(cells: Sequence[str]) -> Categories:
    """The distinct cells in order: numbers by their value (so 1 is 1.0), others as text.

    An empty cell is a category too, the first.
    """
    distinct = sorted(set(cells))
    values = {cell: number(cell) if cell else -math.inf for cell in distinct}
    numeric = None not in values.values()
    keys = {cell: (values[cell] or 0.0, "") if numeric else (0.0, cell) for cell in distinct}
    names: dict[tuple[float, str], str] = {}
    for cell, key in keys.items():
        names.setdefault(key, cell)
    code = {key: i for i, key in enumerate(sorted(names))}
    codes = np.fromiter((code[keys[cell]] for cell in cells), np.int64, len(cells))
    return Categories([names[key] for key in sorted(names)], codes)


def looks_numeric(cells: Iterable[str], most: int) -> bool:
    """Return whether a column has more than `most` distinct numbers and few other values.

    A decimal comma counts as a number, and so does a column with a few marks like '?': these
    need correction, not a category for each number.
    """
    distinct = {cell for cell in cells if cell}
    numbers = sum(number(cell.replace(",", ".")) is not None for cell in distinct)
    return numbers > most and 2 * numbers > len(distinct)


def parse_bounds(texts: Iterable[str]) -> tuple[dict[str, Interval], list[BadInput]]:
    """Parse texts COLUMN=LOW:HIGH into intervals by column; return the problems of the others."""
    intervals: dict[str, Interval] = {}
    problems: list[BadInput] = []
    for text in texts:
        name, _, ends = text.rpartition("=")
        column, value = name.strip(), text
        low, high = (number(end.strip()) for end in (*ends.split(":"), "", "")[:2])
        if not name or ends.count(":") != 1 or low is None or high is None:
            message, code = f"write COLUMN=LOW:HIGH, such as age=0:120, not {text!r}", "not-bounds"
        elif not low < high or math.isinf(high - low):
            message, code = (
                f"LOW must be below HIGH in {text!r}, by a finite amount",
                "empty-interval",
            )
        elif column in intervals:
            message, code, value = f"{column!r} has bounds twice; state one", "stated-twice", column
        else:
            intervals[column] = Interval(low, high)
            continue
        problems.append(BadInput(message, code, option="bounds", value=value))
    return intervals, problems
