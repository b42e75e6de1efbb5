"""The cells of a CSV file: the whole file, or one sentence that says why not."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dpaudit.errors import BadInput
from dpaudit.opened import opened

DELIMITERS = (",", ";", "\t")

MOST_BYTES = 1 << 29
"""Of text, which takes ten times that in memory. A small .gz can hold any amount."""


@dataclass(frozen=True)
class Cells:
    """A table as text: each row has a cell for each name of the header, without outer blanks."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    """Where in the file each row ends, counted from 1: what an editor shows."""
    ragged: Sequence[str]
    """Rows with another number of cells, which are not among `rows`."""

    def column(self, name: str) -> list[str]:
        """The cells under a name."""
        at = self.header.index(name)
        return [row[at] for row in self.rows]


def read(path: Path) -> Cells:
    """The cells of a file whose header and quoting are sound."""
    text = _text(path)
    if not text.strip():
        raise BadInput(f"{path}: it is empty; the first line names the columns")
    try:
        return _cells(text)
    except csv.Error as error:
        raise BadInput(f"{path}: it is not a CSV file ({error}); save it again") from error


def _cells(text: str) -> Cells:
    delimiter = max(DELIMITERS, key=lambda it: len(_first_row(text, it)))
    rows = _rows(text, delimiter)
    _, header = next(rows)
    good, lines, ragged = [], [], []
    for line, row in rows:
        if len(row) == len(header):
            good.append(row)
            lines.append(line)
        else:
            ragged.append(f"line {line} has {len(row)}")
    return Cells(header, good, lines, ragged)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line, row) of each row that is not blank."""
    # Strict: a quote that is never closed would otherwise swallow the rest of the file.
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        for row in reader:
            if row:
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: {error}") from error


def _first_row(text: str, delimiter: str) -> list[str]:
    try:
        return next(_rows(text, delimiter))[1]
    except csv.Error:
        return []  # quoted as the other delimiters need it


def _text(path: Path) -> str:
    with opened(path, "a .csv or .csv.gz file") as file:
        content = _unpacked(path, file) if path.name.lower().endswith(".gz") else _start(file)
    if len(content) > MOST_BYTES:
        most = MOST_BYTES >> 20
        raise BadInput(f"{path}: it holds more than {most} MiB of text; use fewer records")
    if b"\0" in content or content.startswith(b"\x1f\x8b"):
        raise BadInput(f"{path}: it is not text; save it as CSV (compressed: .csv.gz), in UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{path}: line {line} is not UTF-8; save the file as UTF-8") from error


def _unpacked(path: Path, file: BinaryIO) -> bytes:
    try:
        with gzip.open(file) as unpacked:
            return _start(unpacked)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(
            f"{path}: it is cut short, damaged or not gzip ({error}); save it again"
        ) from error


def _start(file: BinaryIO | gzip.GzipFile) -> bytes:
    """All of a file, or enough of it to see that it is too large."""
    return file.read(MOST_BYTES + 1)
