"""The paper's Fig. 5 and Fig. 1 again: what composition spends, and what generators draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from dpaudit.accounting import gaussian_mu
from dpaudit.papers.p3gm.accounting import Phases, replacing
from dpaudit.seeds import derive
from dpaudit.types import Records
from reproductions.p3gm.compositions import baseline, composed
from reproductions.p3gm.methods import methods, synthetic
from reproductions.p3gm.run import dealt

NOISE = (1.0, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 4.0)
DELTA = 1e-5
EXAMPLE = {"epsilon_p": 0.1, "components": 3, "iterations": 20, "s_e": 100.0}
LOT, RECORDS, EPOCHS = 300, 63_000, 4
SHOWN = 10
"""Pictures of each method."""


def composition() -> dict[str, list[float]]:
    """epsilon by DP-SGD's noise, of the paper's example: its baseline, and compositions."""
    q, steps = LOT / RECORDS, EPOCHS * RECORDS // LOT
    all_ = [Phases(**EXAMPLE, sample_rate=q, steps=steps, s_s=s) for s in NOISE]
    # As it holds: Gaussian DP-PCA of the same epsilon at delta, DP-EM by three sums an iteration.
    mu = float(np.hypot(gaussian_mu(0.1, DELTA), np.sqrt(3 * 20) / 100))
    return {
        "zCDP and moments, added (the paper's baseline)": [baseline(p, DELTA) for p in all_],
        "RDP, DP-PCA's term as printed": [composed(p, DELTA) for p in all_],
        "RDP, DP-PCA's term tight": [composed(p, DELTA, "exact") for p in all_],
        "as it holds, one record replaced": [replacing(mu, q, steps, s, DELTA) for s in NOISE],
    }


def draw_composition(curves: dict[str, list[float]], path: Path) -> None:
    """Lines of epsilon against the noise multiplier."""
    from matplotlib.figure import Figure

    from dpaudit.report import drawing

    with drawing.style():
        figure = Figure(figsize=(6.2, 3.6), layout="constrained")
        axes = figure.subplots()
        looks = (("#8a8a8a", (0, (4, 3))), ("#d55e00", "-"), ("#0072b2", "-"), ("#009e73", "-"))
        for (name, values), (colour, dashes) in zip(curves.items(), looks, strict=True):
            axes.plot(NOISE, values, color=colour, linestyle=dashes, label=name, linewidth=1.6)
        axes.set_xlabel("noise multiplier of DP-SGD")
        axes.set_ylabel("epsilon at delta 1e-5")
        axes.set_ylim(0)
        axes.legend(loc="upper right")
        figure.savefig(path, dpi=200)


def draw_samples(name: str, scale: float, path: Path) -> None:
    """A row of pictures for each method, one of each label."""
    from matplotlib.figure import Figure

    from dpaudit.report import drawing

    table, _, radius = data = dealt(name, scale)
    side = round(table.records.x.shape[1] ** 0.5)
    if side**2 != table.records.x.shape[1]:
        raise click.UsageError(f"{name} has no pictures")
    train, _ = data.parted(0)
    shown = methods(table)
    with drawing.style():
        figure = Figure(figsize=(6.2, 0.66 * len(shown)), layout="constrained")
        grid = figure.subplots(len(shown), SHOWN)
        for row, method in zip(grid, shown, strict=True):
            made = synthetic(method, train, table, radius, derive(0, "p3gm", name, method))
            for label, axes in enumerate(row):
                _picture(axes, made, label, side)
            row[0].set_ylabel(method, rotation=0, ha="right", va="center")
        figure.savefig(path, dpi=120)


def _picture(axes: Any, made: Records, label: int, side: int) -> None:
    (own,) = np.nonzero(made.y == label)
    picture = made.x[own[0]].reshape(side, side) if len(own) else np.zeros((side, side))
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set_xticks([])
    axes.set_yticks([])


@click.command()
@click.option("--composition", "composed", type=click.Path(path_type=Path), help="Draw Fig. 5.")
@click.option("--samples", type=click.Path(path_type=Path), help="Draw Fig. 1.")
@click.option("--data", default="digits", show_default=True, help="Of the samples.")
@click.option("--scale", type=click.FloatRange(0, 1, min_open=True), default=1, show_default=True)
def main(composed: Path | None, samples: Path | None, data: str, scale: float) -> None:
    """Print what composition spends, and draw what is asked for."""
    curves = composition()
    for name, values in curves.items():
        click.echo(f"{name:<48}" + "".join(f"{x:7.3f}" for x in values))
    click.echo(f"{'noise multiplier':<48}" + "".join(f"{s:7.1f}" for s in NOISE))
    if composed:
        draw_composition(curves, composed)
    if samples:
        draw_samples(data, scale, samples)


if __name__ == "__main__":
    main()
