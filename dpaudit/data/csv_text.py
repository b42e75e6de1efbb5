"""The cells of a CSV file: the whole file, or one sentence that says why not."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from dpaudit import files
from dpaudit.errors import BadInput
from dpaudit.files import in_file, open_file
from dpaudit.types import Array

DELIMITERS = (",", ";", "\t")

MOST_BYTES = 1 << 29
"""Of text, which takes ten times that in memory. A small .gz can hold any amount.

Where half of the memory is less than that, it is less.
"""

MOST_ROW = 1 << 20
"""Characters of a row: a hundred for each of ten thousand columns."""

BLOCK = 1 << 16
"""Bytes that are read at a time."""

File = BinaryIO | gzip.GzipFile


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
    """Where in the file each row ends, counted from 1: what an editor shows."""
    ragged: Sequence[Ragged]
    """Rows with another number of cells, which are not among `rows`."""

    def column(self, name: str) -> list[str]:
        """The cells under a name."""
        at = self.header.index(name)
        return [row[at] for row in self.rows]


def read(path: Path) -> Cells:
    """The cells of a file whose header and quoting are sound."""
    with open_file(path, "a .csv or .csv.gz file") as file:
        try:
            if path.name.lower().endswith(".gz"):
                with gzip.open(file) as unpacked:
                    return _cells(unpacked)
            return _cells(file)
        except Unusable as error:
            raise in_file(path, error) from error
        except csv.Error as error:
            said = f"it is not a CSV file ({error}); save it again"
            raise BadInput(f"{path}: {said}", "wrong-format", value=str(path)) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise BadInput(
                f"{path}: it is cut short, damaged or not gzip ({error}); save it again",
                "file-damaged",
                value=str(path),
            ) from error


class Unusable(BadInput):
    """Why a file's text is not taken; the file's name is not said."""


def _cells(file: File) -> Cells:
    # Of each delimiter the first row alone is read to see which of them suits.
    delimiter = max(DELIMITERS, key=lambda it: len(_first_row(file, it)))
    rows = _rows(file, delimiter)
    _, header = next(rows, (0, []))
    good, lines, ragged = [], [], []
    for line, row in rows:
        if len(row) == len(header):
            good.append(row)
            lines.append(line)
        else:
            ragged.append(Ragged(line, len(row)))
    if not any(header) and not good and not ragged:
        raise Unusable("it is empty; the first line names the columns", "file-empty")
    return Cells(header, good, lines, ragged)


def _first_row(file: File, delimiter: str) -> list[str]:
    try:
        return next(_rows(file, delimiter), (0, []))[1]
    except csv.Error:
        return []  # quoted as the other delimiters need it


def _rows(file: File, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, row) of each row that is not blank, from the beginning of a file on."""
    row_so_far = 0

    def lines() -> Iterator[str]:
        nonlocal row_so_far
        for line in _lines(file):
            row_so_far += len(line)  # a cell in quotes may have many lines
            _refuse_long(row_so_far)
            yield line

    # Strict: a quote that is never closed would otherwise swallow the rest of the file.
    reader = csv.reader(lines(), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            row_so_far = 0
            if row:
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: {error}") from error


def _lines(file: File) -> Iterator[str]:
    """The lines of a file, each with its end: a line feed, a carriage return, or both."""
    file.seek(0)
    rest = ""
    for block in _blocks(file):
        # The last one may go on in the next block.
        *whole, rest = [*io.StringIO(rest + block, newline="")] or [""]
        _refuse_long(len(rest))
        yield from whole
    if rest:
        yield rest


def _blocks(file: File) -> Iterator[str]:
    """The text of a file, some of it at a time."""
    most = min(MOST_BYTES, files.memory_limit() // 5)
    decoder, read, line = codecs.getincrementaldecoder("utf-8-sig")(), 0, 1
    while True:
        block = file.read(BLOCK)
        if b"\0" in block or (read == 0 and block.startswith(b"\x1f\x8b")):
            raise Unusable(
                "it is not text; save it as CSV (compressed: .csv.gz), in UTF-8", "not-text"
            )
        read += len(block)
        if read > most:
            said = f"it holds more than {most >> 20} MiB of text; use fewer records"
            raise Unusable(said, "file-too-large", value=most)
        try:
            yield decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            said = f"line {line} is not UTF-8; save the file as UTF-8"
            raise Unusable(said, "not-utf8", value=line) from error
        line += block.count(b"\n")
        if not block:
            return


def _refuse_long(row: int) -> None:
    if row > MOST_ROW:
        raise Unusable(
            f"it has a row of more than {MOST_ROW:,} characters; see whether its lines end, and "
            "its quotes are closed",
            "row-too-long",
            value=MOST_ROW,
        )


# ----------------------------------------------------------------
# Columns of text as numbers: scaled by stated bounds, or one feature a category.


@dataclass(frozen=True)
class Interval:
    """What a number can be, by public knowledge; never taken from the data."""

    low: float
    high: float

    def scaled(self, numbers: Array) -> Array:
        """Numbers clipped to the interval, as their place in it: 0 to 1."""
        return (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)

    def drawn(self, count: int, draw: np.random.Generator) -> tuple[list[str], Array]:
        """Cells of random numbers, and the feature that each makes."""
        cells = [f"{x:.6g}" for x in draw.uniform(self.low, self.high, count)]
        numbers = np.array([float(cell) for cell in cells])
        return cells, self.scaled(numbers).astype(np.float32)[:, None]


@dataclass(frozen=True)
class Categories:
    """A column of `names`, and which of them each row has."""

    names: Sequence[str]
    codes: Array

    def one_hot(self) -> Array:
        """One feature a name: 1 for the rows that have it, else 0."""
        return np.eye(len(self.names), dtype=np.float32)[self.codes]

    def drawn(self, count: int, draw: np.random.Generator) -> tuple[list[str], Array]:
        """Cells of random categories, and the features that each makes."""
        codes = draw.integers(0, len(self.names), count)
        return [self.names[code] for code in codes], Categories(self.names, codes).one_hot()


def number(cell: str) -> float | None:
    """A cell's finite number; None for what is no such thing."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python's own 1_000 is nobody else's number.
    return value if math.isfinite(value) and "_" not in cell else None


def categories(cells: Sequence[str]) -> Categories:
    """The different cells in order: numbers by their value (so 1 is 1.0), others as text.

    An empty cell is a category too, the first.
    """
    different = sorted(set(cells))
    values = {cell: number(cell) if cell else -math.inf for cell in different}
    numeric = None not in values.values()
    keys = {cell: (values[cell] or 0.0, "") if numeric else (0.0, cell) for cell in different}
    names: dict[tuple[float, str], str] = {}
    for cell, key in keys.items():
        names.setdefault(key, cell)
    code = {key: i for i, key in enumerate(sorted(names))}
    codes = np.fromiter((code[keys[cell]] for cell in cells), np.int64, len(cells))
    return Categories([names[key] for key in sorted(names)], codes)


def measured(cells: Iterable[str], most: int) -> bool:
    """Whether a column looks like measurements: more than `most` numbers, few other values.

    A decimal comma counts, and so do a few marks like '?': these need mending, not a category
    for each number beside them.
    """
    different = {cell for cell in cells if cell}
    numbers = sum(number(cell.replace(",", ".")) is not None for cell in different)
    return numbers > most and 2 * numbers > len(different)


def parse_bounds(texts: Iterable[str]) -> tuple[dict[str, Interval], list[BadInput]]:
    """Intervals by column from texts COLUMN=LOW:HIGH, and what is wrong with the others."""
    intervals: dict[str, Interval] = {}
    problems: list[BadInput] = []
    for text in texts:
        column, _, ends = text.rpartition("=")
        low, high = (number(end.strip()) for end in (*ends.split(":"), "", "")[:2])
        if not column or ends.count(":") != 1 or low is None or high is None:
            said = f"bounds are COLUMN=LOW:HIGH, such as age=0:120, not {text!r}"
            problems.append(BadInput(said, "not-bounds", option="bounds", value=text))
        elif not low < high or math.isinf(high - low):
            said = f"bounds need LOW below HIGH, and not infinitely far, unlike {text!r}"
            problems.append(BadInput(said, "empty-interval", option="bounds", value=text))
        elif column.strip() in intervals:
            said = f"{column.strip()!r} has bounds twice; state them once"
            problems.append(BadInput(said, "stated-twice", option="bounds", value=column.strip()))
        else:
            intervals[column.strip()] = Interval(low, high)
    return intervals, problems
