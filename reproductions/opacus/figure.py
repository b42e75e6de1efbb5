"""Bounds against what Opacus claims: by the number of records, and by how batches are made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LEAST = 0.05
"""Bounds below it, most of them 0, are drawn here: the axis is a logarithm."""

MOST = 3e4
"""Room for the legends above the largest bound."""

LINE = {"linewidth": 1.4, "markersize": 4.0}

SHADES = ("#8cc1e4", "#2f8ccb", "#004a78")
"""Fewest to most parameters: one colour, because it is one thing that grows."""


def draw(found: Sequence[Any], path: Path) -> None:
    """One PNG or SVG with the two reports of users that can be turned by a knob."""
    from matplotlib.figure import Figure

    from dpaudit.report import drawing

    with drawing.style():
        figure = Figure(figsize=(8.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        by_records(left, [one for one in found if one.case.name.endswith(" parameters")])
        by_noise(right, [one for one in found if one.case.name.startswith("noise ")])
        for axes in (left, right):
            axes.set_yscale("log")
            axes.set_ylim(LEAST * 0.8, MOST)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.grid(True)
            if axes.lines:  # a part of the cases may have been asked for
                axes.legend(loc="upper right", handlelength=1.6, borderaxespad=0.2, fontsize=8)
        left.set_ylabel("epsilon that is shown by curve")
        figure.savefig(path, dpi=110)


def by_records(axes: Any, found: Sequence[Any]) -> None:
    """A line for each number of parameters; the claim is the same for all numbers of records."""
    from dpaudit.report import drawing

    widths = sorted({one.case.game.features for one in found})
    for width, shade in zip(widths, SHADES, strict=False):
        here = [one for one in found if one.case.game.features == width]
        n = [one.case.game.records for one in here]
        bounds = [max(LEAST, one.by_curve) for one in here]
        axes.plot(n, bounds, "o-", color=shade, label=f"{2 * width:,} parameters", **LINE)
    if found:
        axes.axhline(found[0].claim, color=drawing.CLAIM, linestyle=(0, (4, 3)), label="claimed")
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted({one.case.game.records for one in found}))
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title("noise divided by a private number")
    axes.set_xlabel("records, of which the neighbour has one more")


def by_noise(axes: Any, found: Sequence[Any]) -> None:
    """A line for each way to make batches, and the claim that all of them have."""
    from dpaudit.report import drawing

    kinds = {
        "Poisson": (drawing.OUT, "o", "sampled (Poisson)"),
        "others blank": (drawing.MUTED, "s", "shuffled, blank records"),
        "last batch dropped": ("#e69f00", "D", "shuffled, opposed, last dropped"),
        "last batch kept": (drawing.IN, "^", "shuffled, opposed"),
    }
    for kind, (color, marker, label) in kinds.items():
        here = [one for one in found if one.case.name.endswith(f", {kind}")]
        noises = [one.case.game.training.noise_multiplier for one in here]
        bounds = [max(LEAST, one.by_curve) for one in here]
        axes.plot(noises, bounds, marker=marker, color=color, label=label, **LINE)
        if kind == "Poisson":
            claims = [one.claim for one in here]
            axes.plot(noises, claims, color=drawing.CLAIM, linestyle=(0, (4, 3)), label="claimed")
    axes.set_title("shuffled, accounted as sampled")
    axes.set_xlabel("noise multiplier")
