"""Files that a command writes at its end: refused before its work, not after it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from dpaudit.cli.misuse import BadValue, Misuse
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
