"""Files that a command writes at its end: refused before its work, not after it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from dpaudit.cli import BadValue, Misuse
from dpaudit.errors import BadInput
from dpaudit.journal import file as journal_file

FIGURES = (".png", ".svg")
"""What a figure can be drawn as."""

DATABASE = b"SQLite format 3\0"
"""How any journal begins."""


class Destination(click.Path):
    """A file that can be written; with `endings`, one that ends so."""

    def __init__(self, *endings: str) -> None:
        super().__init__(path_type=Path)
        self.endings = endings

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if problem := self.problem(os.fspath(value)):
            raise BadValue(str(problem), problem.code, param, ctx)
        return super().convert(value, param, ctx)

    def problem(self, given: str) -> BadInput | None:
        """The error for a file that cannot be written, or None."""
        found = self._found(given)
        if found is None:
            return None
        code, said = found
        return BadInput(f"cannot write {given}: {said}", code, value=given)

    def _found(self, given: str) -> tuple[str, str] | None:
        path = Path(os.path.realpath(given))
        if path.is_dir() or given.endswith(("/", os.sep)):
            return "is-folder", "it is a folder"
        if self.endings and path.suffix not in self.endings:
            return "wrong-ending", f"it must end in {' or '.join(self.endings)}"
        if not path.parent.is_dir():
            return "folder-missing", f"there is no folder {Path(given).parent}"
        if path.name == journal_file.NAME or _is_journal(path):
            return "is-journal", "it is a journal, and the models of its run would be lost"
        # What exists and is no file, such as a pipe, is written to where it is.
        touched = path if path.exists() and not path.is_file() else path.parent
        writable = os.access(touched, os.W_OK)
        return None if writable else ("file-unwritable", f"{touched} is not writable")


def _is_journal(path: Path) -> bool:
    if not path.is_file():  # to open a pipe is to wait for its writer
        return False
    with suppress(OSError), path.open("rb") as file:
        return file.read(len(DATABASE)) == DATABASE
    return False


def refuse_same(named: Mapping[str, Path | None]) -> None:
    """Refuse two options that name one file: the second would overwrite the first."""
    seen: dict[str, str] = {}
    for option, path in named.items():
        if path is None:
            continue
        first = seen.setdefault(os.path.realpath(path), option)
        if first != option:
            raise Misuse(f"{first} and {option} name the same file: {path}", "same-file")


# ----------------------------------------------------------------
# How far a run is: a bar on a terminal, plain lines elsewhere.


SHORTEST, LONGEST = 6, 24
"""Of a bar; a shorter one says nothing."""


class Progress:
    """Written to standard error, so that standard output is the report alone.

    `quiet`: what is soon done is counted on a terminal only.
    """

    def __init__(self, unit: str = "models", quiet: bool = False) -> None:
        self.unit = unit
        self.quiet = quiet
        self.done = self.total = 0
        self._live = sys.stderr.isatty()
        self._started: float | None = None
        self._first = 0
        self._told = -1.0
        self._shown = 0
        self._evidence = ""

    def say(self, text: str) -> None:
        """What the next silence is about."""
        self._line(f"{text} ...", last=not self._live)

    def note(self, text: str) -> None:
        """A line that stays."""
        self._line(text, last=True)

    def __call__(self, done: int, total: int) -> None:
        """So many are done of those wanted."""
        self.done, self.total = done, total
        if self._started is None:
            self._started, self._first = time.monotonic(), done
        text = f"{done}/{total} {self.unit}{self._evidence}{self._pace()}"
        if self._live:
            self._line(_fitting(done, total, text), last=done == total)
        elif not self.quiet and (done == total or done / total >= self._told + 0.1):
            self._told = done / total
            self._line(text, last=True)

    def evidence(self, wealth: float, needed: float) -> None:
        """What the models so far weigh against the claim, and what would refute it."""
        self._evidence = f", evidence {wealth:.3g} of {needed:.3g}"
        if self.total:
            self._told = -1.0
            self(self.done, self.total)

    def clear(self) -> None:
        """Leave no half-written line behind."""
        if self._shown:
            self._line("", last=False)
            sys.stderr.write("\r")

    def _pace(self) -> str:
        played = self.done - self._first
        if self._started is None or played == 0:
            return ""
        seconds = time.monotonic() - self._started
        left = round(seconds / played * (self.total - self.done))
        minutes, rest = divmod(left, 60)
        ending = f", {minutes}:{rest:02d} left" if self.done < self.total else ""
        return f", {played / seconds:.2f}/s{ending}"

    def _line(self, text: str, last: bool) -> None:
        # The end of a longer line before this one is wiped out with blanks.
        start, wipe = ("\r", " " * (self._shown - len(text))) if self._live else ("", "")
        sys.stderr.write(start + text + wipe + ("\n" if last else ""))
        sys.stderr.flush()
        self._shown = 0 if last else len(text)


def _fitting(done: int, total: int, text: str) -> str:
    """The text after a bar, within the terminal: a line that wraps could not be overwritten."""
    width = shutil.get_terminal_size().columns - 1
    length = min(LONGEST, width - len(f"[] {text}"))
    if length < SHORTEST:
        return text[:width]
    filled = length * done // total
    return f"[{'#' * filled}{'.' * (length - filled)}] {text}"
