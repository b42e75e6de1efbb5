"""The paper's Figs. 4 to 8, each beside what is valid; from what `questions.py` has written."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from dpaudit.report import drawing
from reproductions.bayesian.answers import PASSES, SETS, SINGLES, UNITS, few, rounded
from reproductions.bayesian.delong import Estimate
from reproductions.bayesian.games import SAMPLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Answers = Mapping[str, Any]

COLOURS = {
    "loss": "#59626b",
    "mean+std": "#0072b2",
    "min+max": "#d55e00",
    "all-four": "#00795a",
    "mean": "#56b4e9",
    "inv_std": "#cc79a7",
    "min": "#e69f00",
    "max": "#b8860b",
    "learned": "#1b1f24",
}
WORDS = {
    "loss": "plain network",
    "inv_std": "1/std",
    "all-four": "all four",
    "learned": "learned",
}
SHADES = ("#0072b2", "#d55e00", "#00795a", "#cc79a7", "#59626b")
"""Of canaries."""

RESOLUTION = 110


def of(found: Sequence[Answers], data: str, training: str) -> list[Answers]:
    """The games of one training, in their order."""
    wanted = {"data": data, "training": training}
    return [one for one in found if wanted.items() <= one["game"].items()]


def passes(found: Sequence[Answers]) -> list[int]:
    """The numbers of passes that were asked about, all of them last."""
    return [t for t in (*PASSES, SAMPLES) if few(t) in found[0]["released"]]


def units(found: Sequence[Answers]) -> list[float]:
    """The units that were asked about; 0, which is no rounding, first."""
    return [u for u in (0.0, *UNITS) if rounded(u) in found[0]["released"]]


def png(figure: Figure) -> bytes:
    """As small as a notebook wants it."""
    file = io.BytesIO()
    with drawing.style():
        figure.savefig(file, format="png", dpi=RESOLUTION, metadata={"Software": None})
    return file.getvalue()


def figure_4(found: Sequence[Answers]) -> Figure:
    """The canaries."""
    with drawing.blank(2.0) as figure:
        axes = figure.subplots(1, max(4, len(found)), squeeze=False)[0]
        for place, one in zip(axes, found, strict=False):
            image = np.reshape(one["canary"]["levels"], one["canary"]["shape"])
            shown = image[0] if len(image) == 1 else np.moveaxis(image, 0, -1)
            place.imshow(shown, cmap="gray_r", vmin=0, vmax=255)
            place.set_title(f"{one['game']['canary']},\nlabel {one['label']}", fontsize=9)
        for place in axes:
            place.axis("off")
    return figure


def figure_5(found: Sequence[Answers]) -> Figure:
    """By canary: in-sample estimates beside those on shuffled labels; AUCs with their intervals."""
    with drawing.blank(5.2) as figure:
        above, below = figure.subplots(2, 1)
        _bars(above, found)
        _areas(below, found)
        for axes in (above, below):
            axes.set_xticks(range(len(found)), [one["game"]["canary"] for one in found])
            axes.grid(True, axis="y")
        above.set_title("in-sample estimate, one sd, and the same on shuffled labels")
        above.set_ylabel("epsilon, in sample")
        below.set_title("AUC with 95 % intervals; below a half, the sign is the other one")
        below.set_ylabel("AUC")
    return figure


def _bars(axes: Any, found: Sequence[Answers]) -> None:
    names = ("loss", *SETS)
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        told = np.array([estimate(one, name, SAMPLES) for one in found], dtype=float)
        x = np.arange(len(found)) + (i - (len(names) - 1) / 2) * width
        kept = {"color": COLOURS[name], "label": WORDS.get(name, name)}
        axes.bar(x, told[:, 0], 0.92 * width, alpha=0.75, **kept)
        axes.errorbar(x, told[:, 0], told[:, 1], fmt="none", ecolor=drawing.INK, elinewidth=0.9)
        axes.plot(x, told[:, 2], "_", color=drawing.INK, markersize=13, markeredgewidth=2)
    axes.plot([], [], "_", color=drawing.INK, markeredgewidth=2, markersize=9, label="shuffled")
    axes.set_ylim(0, 1.3 * axes.get_ylim()[1])
    axes.legend(ncols=5, loc="upper left", columnspacing=0.9, handlelength=1.0, handletextpad=0.4)


def _areas(axes: Any, found: Sequence[Answers]) -> None:
    rows = [("plain", "loss"), ("plain", "learned")]
    rows += [("passes", name) for name in (*SINGLES, "learned")]
    width = 0.8 / len(rows)
    for i, (view, name) in enumerate(rows):
        areas = [area(one, view, name) for one in found]
        x = np.arange(len(found)) + (i - (len(rows) - 1) / 2) * width
        plain = view == "plain"
        words = {("plain", "learned"): "plain, learned", ("passes", "learned"): "passes, learned"}
        _points(
            axes,
            x,
            areas,
            color=COLOURS[name],
            marker="s" if plain else "o",
            fillstyle="none" if plain else "full",
            label=words.get((view, name), WORDS.get(name, name)),
        )
    axes.axhline(0.5, color=drawing.MUTED, linewidth=1)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.45 * (high - low))
    axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= 1])
    axes.legend(ncols=4, loc="upper left", columnspacing=0.9, handlelength=1.0, handletextpad=0.4)


def figure_6(found: Sequence[Answers]) -> Figure:
    """By the number of passes: estimates, the same on shuffled labels (dashes), and AUCs."""
    times = passes(found)
    with drawing.blank(6.4) as figure:
        grid = figure.subplots(3, max(1, len(found)), sharex=True, sharey="row", squeeze=False)
        for (sets, singles, areas), one in zip(grid.T, found, strict=True):
            sets.set_title(one["game"]["canary"], fontsize=9)
            for axes, names in ((sets, SETS), (singles, SINGLES)):
                for name in names:
                    told = np.array([estimate(one, name, t) for t in times], dtype=float)
                    axes.plot(times, told[:, 0], color=COLOURS[name], linewidth=1.4)
                    axes.plot(times, told[:, 2], ":", color=COLOURS[name], linewidth=1.4)
                plain = estimate(one, "loss", SAMPLES)[0]
                axes.axhline(plain, color=COLOURS["loss"], linewidth=1.2)
            for name in ("mean", "inv_std", "learned"):
                _band(areas, times, [area(one, few(t), name) for t in times], COLOURS[name])
            areas.axhline(0.5, color=drawing.MUTED, linewidth=0.8)
            areas.set_xscale("log")
            areas.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1k"])
            areas.minorticks_off()
            areas.set_xlabel("T")
            for axes in (sets, singles, areas):
                axes.grid(True, axis="y")
        grid[0, 0].set_ylabel("epsilon, in sample")
        grid[1, 0].set_ylabel("epsilon, in sample")
        grid[2, 0].set_ylabel("AUC, 95 %")
        _legend(figure, ("loss", *SETS, *SINGLES, "learned"), dotted="shuffled labels")
    return figure


def figure_7(found: Sequence[Answers]) -> Figure:
    """How the predictive mean of the canary's class is spread, for 2 and for 1,000 passes."""
    with drawing.blank(3.6) as figure:
        grid = figure.subplots(2, max(1, len(found)), squeeze=False)
        for place, (column, one) in enumerate(zip(grid.T, found, strict=True)):
            column[0].set_title(one["game"]["canary"], fontsize=9)
            for axes, (times, told) in zip(column, one["means"].items(), strict=True):
                edges = np.linspace(0, told["highest"], len(told["out"]) + 1)
                for world, colour in (("out", drawing.OUT), ("in", drawing.IN)):
                    axes.stairs(told[world], edges, color=colour, linewidth=1.2)
                axes.set_yticks([])
                axes.spines["left"].set_visible(False)
                axes.locator_params(axis="x", nbins=3)
                if place == 0:
                    axes.set_ylabel(f"T = {int(times):,}")
        for world, colour in (("without the canary", drawing.OUT), ("with it", drawing.IN)):
            grid[0, 0].plot([], [], color=colour, label=world)
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def figure_8(found: Sequence[Answers]) -> Figure:
    """By the unit of rounding: what it costs, estimates with their nulls (dashes), and AUCs."""
    _, *finest = units(found)
    shown = [min(finest) / 2, *finest]
    names = [rounded(u) for u in units(found)]
    with drawing.blank(6.4) as figure:
        useful, estimates, areas = figure.subplots(3, 1, sharex=True)
        first = [found[0]["released"][name]["utility"] for name in names]
        useful.plot(shown, [u["accuracy"] for u in first], "o-", color=SHADES[0], label="accuracy")
        undecided = [u["undecidable"] for u in first]
        useful.plot(shown, undecided, "s-", color=SHADES[1], label="no label: a tie")
        useful.set_ylabel("share of test records")
        useful.set_ylim(0, 1)
        useful.legend(loc="center left")
        for one, colour in zip(found, SHADES, strict=False):
            told = np.array([one["released"][n]["estimates"]["mean+std"] for n in names])
            label = one["game"]["canary"]
            estimates.plot(shown, told[:, 0], "o-", color=colour, markersize=3, label=label)
            estimates.plot(shown, told[:, 2], ":", color=colour)
            rows = [Estimate(*one["released"][n]["aucs"]["learned"][:2]) for n in names]
            _band(areas, shown, rows, colour)
        estimates.set_ylabel("epsilon, in sample")
        estimates.plot([], [], ":", color=drawing.INK, label="on shuffled labels")
        estimates.set_ylim(0, 1.45 * estimates.get_ylim()[1])
        estimates.legend(ncols=3, loc="upper left", columnspacing=0.9)
        areas.axhline(0.5, color=drawing.MUTED, linewidth=0.8)
        areas.set_ylabel("AUC of learned, 95 %")
        areas.set_xscale("log")
        areas.set_xticks(shown, ["as is", *(f"{u:g}" for u in finest)])
        areas.minorticks_off()
        areas.set_xlabel("unit to which mean and std are rounded")
        for axes in (useful, estimates, areas):
            axes.grid(True, axis="y")
    return figure


def area(one: Answers, released: str, attack: str) -> Estimate:
    """An attack's AUC on one way of releasing."""
    return Estimate(*one["released"][released]["aucs"][attack][:2])


def more(one: Answers, released: str, attack: str) -> Estimate:
    """How much it is above that of what it is compared with."""
    return Estimate(*one["released"][released]["aucs"][attack][2:])


def estimate(one: Answers, name: str, times: int = SAMPLES) -> Sequence[float]:
    """The in-sample estimate, its spread, and the mean and 95 % quantile of its null."""
    view = "plain" if name == "loss" else few(times)
    told: Sequence[float] = one["released"][view]["estimates"][name]
    return told


def _points(axes: Any, x: Any, areas: Sequence[Estimate], **kept: Any) -> None:
    y, reach = [a.value for a in areas], [a.interval[1] - a.value for a in areas]
    axes.errorbar(x, y, reach, linestyle="none", markersize=4, elinewidth=1, **kept)


def _band(axes: Any, x: Sequence[float], areas: Sequence[Estimate], colour: str) -> None:
    low, high = zip(*(a.interval for a in areas), strict=True)
    axes.plot(x, [a.value for a in areas], color=colour, linewidth=1.4)
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)


def _legend(figure: Figure, names: Sequence[str], dotted: str) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=COLOURS[n], label=WORDS.get(n, n)) for n in names]
    lines.append(Line2D([], [], color=drawing.INK, linestyle=":", label=dotted))
    figure.legend(
        handles=lines, loc="outside lower center", ncols=5, columnspacing=0.9, handlelength=1.3
    )


@click.command()
@click.argument("results", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--what", type=click.IntRange(4, 8), default=5, show_default=True, help="Which Fig.")
@click.option("--training", default="noise-0.5", show_default=True, help="The noise.")
@click.option("--figure", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(results: Path, what: int, training: str, figure: Path) -> None:
    """Draw a figure of the paper from a result file."""
    games = json.loads(results.read_text())["games"]
    games = [g for g in games if g["game"]["training"] == training]
    if not games:
        raise click.UsageError(f"no game of {results} has the training {training!r}")
    draw = {4: figure_4, 5: figure_5, 6: figure_6, 7: figure_7, 8: figure_8}[what]
    figure.write_bytes(png(draw(games)))


if __name__ == "__main__":
    main()
