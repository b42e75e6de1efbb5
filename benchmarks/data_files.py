"""Data that benchmarks need and the repository does not have."""

from __future__ import annotations

import os
from pathlib import Path

import click


def data_file(name: str) -> Path:
    """A file of the folder that DPAUDIT_DATA names, or of the current one."""
    file = Path(os.environ.get("DPAUDIT_DATA", ".")) / name
    if not file.exists():
        raise click.UsageError(f"there is no {file}; set DPAUDIT_DATA to the folder that has it")
    return file
