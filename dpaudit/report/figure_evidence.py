"""Figure: how the evidence against the claim grew with the models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.drawing import CLAIM, INK, OUT, PAPER, blank, style
from dpaudit.report.formats import value
from dpaudit.results import Bound, Growth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST = 1e-3
"""Less is drawn as this: how much of a stake is lost says nothing of the claim."""

MOST = 1e3
"""Times what is needed: more is drawn as this, lest it flatten the way there."""


def draw(growth: Growth, bounds: Sequence[Bound], units: str) -> Figure:
    """The wealth of a stake of 1 over the number of trials, on a logarithmic scale."""
    courses = ((growth.wealth, INK, "-"), (growth.beside, OUT, "--"))
    with style():
        figure = blank(4.0)
        axes = figure.add_subplot()
        for (course, color, line), bound in zip(courses, bounds, strict=False):
            wealth = np.clip([1.0, *course], LEAST, MOST * growth.needed)
            label = f"{bound.estimator}{' (decides)' if bound is bounds[0] else ''}"
            trials = 2 * np.arange(len(wealth))
            axes.plot(trials, wealth, line, color=color, linewidth=1.4, label=label)
            axes.plot(trials[-1], wealth[-1], "o", color=color, ms=4, zorder=3, clip_on=False)
        axes.axhline(growth.needed, color=CLAIM, linewidth=2)
        axes.annotate(
            f"refutes the claim: {value(round(growth.needed, 6))}",
            xy=(0, growth.needed),
            xycoords=("axes fraction", "data"),
            xytext=(3, 5),
            textcoords="offset points",
            color=CLAIM,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1},
        )
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda wealth, _: f"{wealth:g}")
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.set_ylim(top=max(3 * growth.needed, axes.get_ylim()[1]))
        axes.set_xlabel(units)
        axes.set_ylabel("evidence against the claim")
        axes.grid(axis="y")
        figure.legend(loc="outside lower center", ncols=2)
        return figure
