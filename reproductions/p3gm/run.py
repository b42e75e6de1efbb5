"""What classifiers learn from synthetic records: P3GM and others at (1, 1e-5), beside the paper.

Each of nine of ten folds is left out in turn: a generator is fitted to the others, draws as many
records with about as many of each label (their counts have noise, which the budget pays for),
classifiers learn from these and are tested on real ones. A tenth of the records, at most 500,
stands for what is public: it gives the radius, and nothing else. A file of results goes on where it
stopped.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import click
import numpy as np

from dpaudit.executors import cores
from dpaudit.seeds import derive, generator
from dpaudit.types import Records
from reproductions.made import command
from reproductions.p3gm.claims import printed
from reproductions.p3gm.data import LOADERS, NOTES, Table, load, thinned
from reproductions.p3gm.kept import Row, rows_of
from reproductions.p3gm.methods import methods, scores, synthetic, typical_length

FOLDS = 10
MEASURED = FOLDS - 1
"""Settings were chosen on the last fold, which is not measured."""


class Dealt(NamedTuple):
    """A data set, the fold of each record (-1 of those that are public), and the radius."""

    table: Table
    fold_of: Any
    radius: float

    def parted(self, fold: int) -> tuple[Records, Records]:
        """What is trained on if a fold is left out, and that fold."""
        others = (self.fold_of >= 0) & (self.fold_of != fold)
        return _some(self.table.records, others), _some(self.table.records, self.fold_of == fold)


@cache
def dealt(name: str, scale: float) -> Dealt:
    """A data set as all methods have it."""
    table = thinned(load(name), scale, generator(0, "p3gm", name))
    n = len(table.records)
    public = generator(1, "p3gm", name).permutation(n)[: min(500, n // FOLDS)]
    radius = typical_length(_some(table.records, public), table.centre)
    return Dealt(table, _folds(table, public), radius)


def measured(scale: float, name: str, method: str, fold: int) -> list[Row]:
    """A row of results: means over classifiers, and each of them where there are several."""
    table, _, radius = data = dealt(name, scale)
    train, test = data.parted(fold)
    learned = synthetic(method, train, table, radius, derive(fold, "p3gm", name, method))
    each = [[round(x, 4) for x in row] for row in scores(learned, test, table.classes)]
    means = [round(mean(column), 4) for column in zip(*each, strict=True)]
    row = {"data": name, "method": method, "fold": fold, "scores": means}
    return [row | ({"each": each} if len(each) > 1 else {})]


def _folds(table: Table, public: Any) -> Any:
    """The fold of each record, whole groups where there are any; -1 of those left out."""
    n = len(table.records)
    groups = np.arange(n) if table.groups is None else table.groups
    kinds, own = np.unique(groups, return_inverse=True)
    fold_of = (generator(2, "p3gm").permutation(len(kinds)) % FOLDS)[own]
    fold_of[public] = -1
    return fold_of


def _some(records: Records, kept: Any) -> Records:
    return Records(records.x[kept], records.y[kept])


@click.command()
@click.option("--data", multiple=True, type=click.Choice(list(LOADERS)), help="Default: all.")
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1, show_default=True)
@click.option("--folds", type=click.IntRange(1, MEASURED), default=MEASURED, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=cores, help="Default: all cores.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Goes on from there.")
def main(
    data: tuple[str, ...], scale: float, folds: int, workers: int, json_file: Path | None
) -> None:
    """Fit, draw, learn and test; print the tables."""
    # Fold after fold, so that a file that has stopped has all data.
    jobs = (
        (name, method, fold)
        for fold, name in product(range(folds), data or LOADERS)
        for method in methods(dealt(name, scale).table)
    )
    rows = rows_of(jobs, measured, command("p3gm.run"), scale, json_file, workers)
    click.echo(printed(rows))
    for name in data or LOADERS:
        click.echo(f"{name}: {NOTES[name]}")


if __name__ == "__main__":
    main()
