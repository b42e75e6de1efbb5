"""A file of results that grows row by row, and goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import click
from threadpoolctl import threadpool_limits

from dpaudit.executors import local_pool
from dpaudit.files import write_whole
from reproductions.made import about
from reproductions.p3gm.methods import SETTINGS

Row: TypeAlias = dict[str, Any]
Job: TypeAlias = tuple[str, str, int]
"""A data set, a method, and the fold that is left out."""

Measure: TypeAlias = Callable[[str, str, int], list[Row]]


def rows_of(
    jobs: Iterable[Job],
    measure: Callable[[float, str, str, int], list[Row]],
    command: str,
    scale: float,
    path: Path | None,
    workers: int,
) -> list[Row]:
    """Rows of all jobs: those that a file has already, and more, written down as they come."""
    told = about(command, scale=scale, settings=SETTINGS)
    rows = _before(path, told)
    done = {(row["data"], row["method"], row["fold"]) for row in rows}
    left = [job for job in jobs if job not in done]
    for more in _each(partial(measure, scale), left, workers):
        rows += more
        _write(path, told, rows)
    return rows


def _before(path: Path | None, told: dict[str, Any]) -> list[Row]:
    if path is None or not path.exists():
        return []
    found = json.loads(path.read_text())
    for name in ("scale", "settings"):
        if found["about"].get(name) != told[name]:
            raise click.UsageError(f"{path} has not the {name} of this run; give another file")
    return list(found["rows"])


def _each(measure: Measure, jobs: list[Job], workers: int) -> Iterator[list[Row]]:
    if workers == 1:
        yield from map(partial(_alone, measure), jobs)
    elif jobs:
        with local_pool(workers) as pool:
            yield from pool.map(partial(_alone, measure), jobs)


def _alone(measure: Measure, job: Job) -> list[Row]:
    """In one thread, as there is a process for each core: rows do not depend on how many."""
    with threadpool_limits(1):
        return measure(*job)


def _write(path: Path | None, told: dict[str, Any], rows: list[Row]) -> None:
    """All that is known so far, a line for each row."""
    if path:
        listed = ",\n".join(map(json.dumps, rows))
        text = f'{{"about": {json.dumps(told)},\n"rows": [\n{listed}\n]}}\n'
        write_whole(path, text.encode())
