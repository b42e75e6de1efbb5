"""The command, date and versions of a result file, and the data files that it needs."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click


def about(command: str, packages: Sequence[str] = (), **told: Any) -> dict[str, Any]:
    """The command that prints these results again, the day, and what versions they are of."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return {"command": command, "date": day, **told, **versions(*packages, "dpaudit")}


def command(module: str) -> str:
    """Return the command that was typed, for a module of `reproductions`."""
    return shlex.join(["python", "-m", f"reproductions.{module}", *sys.argv[1:]])


def versions(*packages: str) -> dict[str, str]:
    """Of these packages, by name."""
    return {name: version(name) for name in packages}


def data_file(name: str) -> Path:
    """A file of the folder that DPAUDIT_DATA names, or of the current one."""
    file = Path(os.environ.get("DPAUDIT_DATA", ".")) / name
    if not file.exists():
        raise click.UsageError(f"there is no {file}; set DPAUDIT_DATA to the folder that has it")
    return file
