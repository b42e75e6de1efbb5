"""How soon generators draw what classifiers can learn from: the paper's Figs. 3 and 4.

Decoders are looked at on the way, after so many epochs of one training whose whole budget is
(1, 1e-5). A file of results goes on where it stopped.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import click

from dpaudit.executors import cores
from dpaudit.papers.p3gm.generator import Generator, fit
from dpaudit.seeds import derive
from reproductions.made import command
from reproductions.p3gm.data import LOADERS
from reproductions.p3gm.kept import Row, rows_of
from reproductions.p3gm.methods import PRIVATE, design, drawn, scores
from reproductions.p3gm.run import MEASURED, dealt

METHODS = ("ae", "p3gm", "dp-vae")
DATA = ("mnist", "credit")
EPOCHS = (0, 1, 3, 6, 12, 20, 30)


def followed(scale: float, name: str, method: str, fold: int) -> list[Row]:
    """Rows of one training: the score after each of some epochs, accuracy or mean AUROC."""
    table, _, radius = data = dealt(name, scale)
    train, test = data.parted(fold)
    seed, wanted = derive(fold, "p3gm", name, method), {_steps(epoch): epoch for epoch in EPOCHS}
    rows: list[Row] = []

    def watch(made: Generator, step: int) -> None:
        if step in wanted:
            learned = drawn(made, len(train), table, seed)
            score = mean(row[0] for row in scores(learned, test, table.classes))
            told = {"epoch": wanted[step], "score": round(score, 4)}
            rows.append({"data": name, "method": method, "fold": fold, **told})

    fit(design(method, len(train), table, radius), train, table.classes, seed, watch)
    return rows


def _steps(epoch: int) -> int:
    return round(epoch / PRIVATE.sample_rate)


def draw(rows: list[Row], figure: Any) -> None:
    """A curve for each method, one panel for each data set, means over folds."""
    looks = {"ae": ("#8a8a8a", "s"), "p3gm": ("#0072b2", "o"), "dp-vae": ("#d55e00", "^")}
    names = list(dict.fromkeys(row["data"] for row in rows))
    lines = []
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for method, (colour, mark) in looks.items():
            own = [r for r in rows if (r["data"], r["method"]) == (name, method)]
            epochs = sorted({r["epoch"] for r in own})
            means = [mean(r["score"] for r in own if r["epoch"] == e) for e in epochs]
            lines += axes.plot(epochs, means, color=colour, marker=mark, markersize=4, label=method)
        axes.set(xlabel=f"epochs of the second phase, {name}", ylim=(0, 1))
        axes.set_ylabel("AUROC" if name == "credit" else "accuracy")
    figure.legend(handles=lines[: len(looks)], loc="outside upper center", ncols=len(looks))


@click.command()
@click.option("--data", multiple=True, default=DATA, type=click.Choice(list(LOADERS)))
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1, show_default=True)
@click.option("--folds", type=click.IntRange(1, MEASURED), default=5, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=cores, help="Default: all cores.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Goes on from there.")
@click.option("--figure", "path", type=click.Path(path_type=Path), help="Draw the curves.")
def main(
    data: tuple[str, ...],
    scale: float,
    folds: int,
    workers: int,
    json_file: Path | None,
    path: Path | None,
) -> None:
    """Train, look on the way, print a line for each method."""
    jobs = ((name, method, fold) for fold, name, method in product(range(folds), data, METHODS))
    how = command("p3gm.convergence")
    rows = rows_of(jobs, followed, how, scale, json_file, workers)
    click.echo(f"{'epochs':<16}" + "".join(f"{epoch:>8}" for epoch in EPOCHS))
    for name, method in product(data, METHODS):
        own = [r for r in rows if (r["data"], r["method"]) == (name, method)]
        means = [mean(r["score"] for r in own if r["epoch"] == epoch) for epoch in EPOCHS]
        click.echo(f"{name:<8}{method:<8}" + "".join(f"{x:8.4f}" for x in means))
    if path:
        from matplotlib.figure import Figure

        from dpaudit.report import drawing

        with drawing.style():
            figure = Figure(figsize=(7, 3), layout="constrained")
            draw(rows, figure)
            figure.savefig(path, dpi=200)


if __name__ == "__main__":
    main()
