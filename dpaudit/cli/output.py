"""The output of a command: its files, the text on standard output, and the progress bar."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import BadValue, Misuse
from dpaudit.journal import file as journal_file

if TYPE_CHECKING:
    from typing_extensions import Self

FIGURES = (".png", ".svg")
"""The formats of a figure."""

DATABASE = b"SQLite format 3\0"
"""The first bytes of any journal."""

NAMED = "dpaudit.files"
"""The key of a command's files in its context."""


class Destination(click.Path):
    """The type of an option that names a file to write; it is checked before the command works.

    With `endings` the file must end in one of them. With `in_run`, files in the command's own
    run folder (--out) need not be writable yet: the run makes it.
    """

    def __init__(self, *endings: str, in_run: bool = False) -> None:
        super().__init__(path_type=Path)
        self.endings = endings
        self.in_run = in_run

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        path = Path(value)
        in_run = self.in_run and ctx is not None and path.parent == ctx.params.get("out")
        if not (in_run and path.name != journal_file.NAME) and (found := self.problem(str(value))):
            code, sentence = found
            raise BadValue(f"cannot write {value}: {sentence}", code, param, ctx)
        if ctx is not None and param is not None:
            flag = param.opts[0]
            first = ctx.meta.setdefault(NAMED, {}).setdefault(os.path.realpath(path), flag)
            if first != flag:
                raise Misuse(f"{first} and {flag} name the same file: {path}", "same-file")
        return path

    def problem(self, given: str) -> tuple[str, str] | None:
        """Return the code and the sentence of a file that cannot be written, or None."""
        path = Path(os.path.realpath(given))
        if path.is_dir() or given.endswith(("/", os.sep)):
            return "is-folder", "it is a folder"
        if self.endings and path.suffix not in self.endings:
            return "wrong-ending", f"it must end in {' or '.join(self.endings)}"
        if not path.parent.is_dir():
            return "folder-missing", f"there is no folder {Path(given).parent}"
        if path.name == journal_file.NAME or _is_journal(path):
            return "is-journal", "it is a journal, and the models of its run would be lost"
        # A pipe or a device is written to, and not replaced.
        touched = path if path.exists() and not path.is_file() else path.parent
        writable = os.access(touched, os.W_OK)
        return None if writable else ("file-unwritable", f"{touched} is not writable")


def _is_journal(path: Path) -> bool:
    if path.is_file():  # opening a pipe would wait for its writer
        with suppress(OSError), path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    return False


def deliver(text: str, *files: tuple[Path | None, Callable[[Path], object]]) -> None:
    """Write the files that were named, and print the text even if one cannot be written."""
    try:
        for path, write in files:
            if path is not None:
                write(path)
    finally:
        click.echo(text)


SHORTEST, LONGEST = 6, 24
"""Lengths of a bar; a shorter one shows nothing."""


class Progress:
    """A bar on a terminal, plain lines elsewhere; on standard error, beside the report.

    A context manager that removes a half-written line at its end. With `quiet`, counts are shown
    on a terminal only, for work that is soon done.
    """

    def __init__(self, unit: str = "models", quiet: bool = False) -> None:
        self.unit = unit
        self.quiet = quiet
        self.done = self.total = 0
        self._live = sys.stderr.isatty()
        self._started: float | None = None
        self._first = 0
        self._printed = -1.0
        self._shown = 0
        self._evidence = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def restart(self, unit: str) -> None:
        """Count anew, in another unit."""
        self.unit, self.done, self.total, self._started, self._printed = unit, 0, 0, None, -1.0

    def say(self, text: str) -> None:
        """Name the step that begins now."""
        self._line(f"{text} ...", last=not self._live)

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._line(text, last=True)

    def __call__(self, done: int, total: int) -> None:
        """Show the number that is done, of those wanted."""
        self.done, self.total = done, total
        if self._started is None:
            self._started, self._first = time.monotonic(), done
        text = f"{done}/{total} {self.unit}{self._evidence}{self._pace()}"
        if self._live:
            self._line(_with_bar(done, total, text), last=done == total)
        elif not self.quiet and (done == total or done / total >= self._printed + 0.1):
            self._printed = done / total
            self._line(text, last=True)

    def evidence(self, wealth: float, needed: float) -> None:
        """Show the evidence against the claim so far, and how much refutes it."""
        self._evidence = f", evidence {wealth:.3g} of {needed:.3g}"
        if self.total:
            self._printed = -1.0
            self(self.done, self.total)

    def clear(self) -> None:
        """Remove a half-written line."""
        if self._shown:
            self._line("", last=False)
            sys.stderr.write("\r")

    def _pace(self) -> str:
        finished = self.done - self._first
        if self._started is None or finished == 0:
            return ""
        seconds = time.monotonic() - self._started
        minutes, rest = divmod(round(seconds / finished * (self.total - self.done)), 60)
        ending = f", {minutes}:{rest:02d} left" if self.done < self.total else ""
        return f", {finished / seconds:.2f}/s{ending}"

    def _line(self, text: str, last: bool) -> None:
        # Blanks overwrite the rest of a longer line.
        start, wipe = ("\r", " " * (self._shown - len(text))) if self._live else ("", "")
        sys.stderr.write(start + text + wipe + ("\n" if last else ""))
        sys.stderr.flush()
        self._shown = 0 if last else len(text)


def _with_bar(done: int, total: int, text: str) -> str:
    """Return the text after a bar, cut to the terminal: a wrapped line cannot be overwritten."""
    width = shutil.get_terminal_size().columns - 1
    length = min(LONGEST, width - len(f"[] {text}"))
    if length < SHORTEST:
        return text[:width]
    filled = length * done // total
    return f"[{'#' * filled}{'.' * (length - filled)}] {text}"
