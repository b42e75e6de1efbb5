"""Where the code or the configuration lies that a verdict is about, found without running it."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


@dataclass(frozen=True)
class Source:
    """A line of a file."""

    file: Path
    line: int = 1

    @property
    def uri(self) -> str:
        """Relative to the working folder, as those who show results beside code want it."""
        here, there = Path.cwd(), Path(os.path.abspath(self.file))
        if not there.is_relative_to(here):
            return there.as_uri()
        return quote(there.relative_to(here).as_posix())


def source(mechanism: str, folder: Path) -> Source:
    """The line that defines a user's function, MODULE:FUNCTION; else a run's configuration.

    A module is looked for where it usually lies: here, or in `src`.
    """
    where, _, name = mechanism.rpartition(":")
    file = Path(where if where.endswith(".py") else f"{where.replace('.', '/')}.py")
    for place in (file, "src" / file):
        if where and name.isidentifier() and place.is_file():
            return Source(place, _line(place, name))
    return Source(folder / "config.toml")


def _line(file: Path, name: str) -> int:
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return 1  # it has changed since it was audited
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return next((n.lineno for n in body if isinstance(n, defined) and n.name == name), 1)
