"""A whole audit of 1,000 models against the training of 20 by Opacus, both in two processes.

    python benchmarks/end_to_end.py [--json FILE]

Opacus trains ten before the audit and ten after it, so that a machine that grows slower or faster
meanwhile counts for both.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

import dpaudit as dp
from dpaudit.executors import local_pool
from dpaudit.training.dpsgd import fit_many

MODELS, OPACUS_MODELS, WORKERS, BAR = 1000, 20, 2, 12
LINE = "run --canary adv-maxloss --samples 1000"


def seconds(work: Callable[[], object]) -> float:
    """The wall time that some work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def by_opacus(models: int) -> float:
    """The time of so many trainings by Opacus, its import and the start of processes left out."""
    data = dp.data.load("digits")
    recipe = dp.mechanisms.DPSGD(data, training=dp.Training(backend="opacus")).recipe
    with local_pool(WORKERS) as pool:
        short = replace(recipe, training=replace(recipe.training, epochs=1))
        fit_many(short, data.pool, range(4 * WORKERS), pool)
        return seconds(lambda: fit_many(recipe, data.pool, range(models), pool))


def audited(folder: Path) -> float:
    """The time of the command line, from its start to the report on disk."""
    words = [*LINE.split(), "--models", str(MODELS), "--workers", str(WORKERS), "--out", folder]
    command = [sys.executable, "-m", "dpaudit", *map(str, words)]
    return seconds(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))


@click.command()
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the numbers here.")
def main(file: Path | None) -> None:
    """Time both sides and print their ratio."""
    half = OPACUS_MODELS // 2
    with tempfile.TemporaryDirectory() as folder:
        before = by_opacus(half)
        audit = audited(Path(folder) / "run")
        backend = json.loads((Path(folder) / "run" / "report.json").read_text())["backend"]["name"]
    opacus = before + by_opacus(OPACUS_MODELS - half)
    click.echo(f"dpaudit {LINE}, {MODELS:,} models by {backend}: {audit:.0f} s")
    click.echo(f"{OPACUS_MODELS} models of the same recipe by Opacus: {opacus:.0f} s")
    click.echo(f"ratio {audit / opacus:.2f} (bar: below {BAR})")
    if file:
        told = {"audit_s": audit, "opacus_s": opacus, "ratio": audit / opacus, "backend": backend}
        file.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
