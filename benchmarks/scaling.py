"""Time against the number of models, and against the number of records: two straight lines?

By the function that audits train with, on digits with the small network. The points are taken
in a shuffled order and each several times, so that a machine that grows slower or faster
meanwhile does not look like a curve.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from malloc import tune

BATCH = 256
MODELS, RECORDS = "models", "records"


@dataclass(frozen=True)
class Line:
    """Seconds = intercept + slope times the number, by least squares."""

    numbers: list[int]
    seconds: list[float]
    slope: float
    intercept: float
    r_squared: float


def fitted(points: dict[int, list[float]]) -> Line:
    """The line through the medians."""
    numbers = sorted(points)
    seconds = np.array([median(points[n]) for n in numbers])
    slope, intercept = np.polyfit(numbers, seconds, 1)
    left = seconds - (intercept + slope * np.array(numbers))
    r_squared = 1 - left.var() / seconds.var()
    return Line(numbers, seconds.tolist(), float(slope), float(intercept), float(r_squared))


def trained(backend: str, models: int, records: int) -> float:
    """Seconds of CPU time for some models of one epoch each."""
    from sklearn.datasets import load_digits

    from dpaudit.config.settings import Training
    from dpaudit.training.dpsgd import fit
    from dpaudit.training.recipe import Recipe
    from dpaudit.types import Records

    training = Training(epochs=1, batch=BATCH, lr=0.1, backend=backend)
    recipe = Recipe(training, shape=(1, 8, 8), classes=10, noise_multiplier=0.8)
    digits = load_digits()
    # There are 1,797: beyond, they come again.
    rows = np.arange(records) % len(digits.target)
    data = Records((digits.images[rows, None] / 16).astype(np.float32), digits.target[rows])
    start = time.process_time()
    for seed in range(models):
        fit(recipe, data, seed)
    return time.process_time() - start


@click.command()
@click.option("--backend", default="native", show_default=True)
@click.option("--quick", is_flag=True, help="Fewer and smaller points: under a minute.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
@click.option("--figure", type=click.Path(path_type=Path), help="Draw both lines, e.g. a.png.")
def main(backend: str, quick: bool, json_file: Path | None, figure: Path | None) -> None:
    """Time trainings of more and more models, and on more and more records."""
    click.echo(tune())
    many = [25, 50, 100, 200] if quick else [100, 250, 500, 1000, 2000]
    large = [BATCH * 2**i for i in range(5)]
    few, repeats = (5, 2) if quick else (20, 3)
    # Two batches a model where the models are counted; `few` models where the records are.
    points = [(MODELS, n, n, 2 * BATCH) for n in many] + [(RECORDS, n, few, n) for n in large]
    order = points * repeats
    random.Random(0).shuffle(order)
    trained(backend, 2, BATCH)  # imports, and what a backend does but once

    times: dict[str, dict[int, list[float]]] = {MODELS: {}, RECORDS: {}}
    with click.progressbar(order, label="training") as bar:
        for what, number, models, records in bar:
            times[what].setdefault(number, []).append(trained(backend, models, records))
    lines = {what: fitted(points) for what, points in times.items()}
    for what, line in lines.items():
        click.echo(f"\nseconds of {backend} against the number of {what}")
        for number, seconds in zip(line.numbers, line.seconds, strict=True):
            click.echo(f"  {number:>6,}{seconds:10.2f}")
        click.echo(
            f"  slope {line.slope * 1e3:.3f} ms, intercept {line.intercept:.3f} s,"
            f" R² {line.r_squared:.5f}"
        )
    if json_file:
        results = {what: asdict(line) for what, line in lines.items()} | {"backend": backend}
        json_file.write_text(json.dumps(results, indent=2) + "\n")
    if figure:
        draw(lines, backend, figure)


def draw(lines: dict[str, Line], backend: str, path: Path) -> None:
    """The points with their lines, side by side."""
    from matplotlib.figure import Figure

    from dpaudit.report import drawing

    with drawing.style():
        figure = Figure(figsize=(1.3 * drawing.WIDTH, 3.0), layout="constrained")
        for axes, (what, line) in zip(figure.subplots(1, 2), lines.items(), strict=True):
            ends: Any = np.array([0, line.numbers[-1]])
            axes.plot(ends, line.intercept + line.slope * ends, color=drawing.MUTED, linewidth=1)
            axes.plot(line.numbers, line.seconds, "o", color=drawing.OUT)
            axes.set_xlim(0)
            axes.set_ylim(0)
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.set_xlabel(what)
            axes.set_ylabel("seconds of CPU time")
            axes.set_title(f"{backend}: R² = {line.r_squared:.4f}")
            axes.grid(True)
        figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
