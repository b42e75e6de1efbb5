"""Figure: how the canaries of one training score, those that were in and those that were not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.drawing import INK, blank, short, style
from dpaudit.report.figure_scores import panel
from dpaudit.report.judged import Judged
from dpaudit.results import Guesses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("left out", "put in")


def ends(judged: Judged, guesses: Guesses) -> tuple[float, float]:
    """The highest score that is called out, if any is, and the lowest that is called in."""
    ranked = np.sort(np.concatenate([judged.scores.out, judged.scores.inn]))
    called_out = guesses.guesses // 2
    called_in = guesses.guesses - called_out
    return float(ranked[called_out - 1]) if called_out else -math.inf, float(ranked[-called_in])


def draw(judged: Judged, guesses: Guesses) -> Figure:
    """Both kinds in one panel, with lines where the guesses end."""
    low, high = ends(judged, guesses)
    with style():
        figure = blank(3.1)
        axes = figure.add_subplot()
        panel(axes, judged, ticks=7, ends=0.07, names=NAMES)
        # Scores are finite or stand for none; a line for these would be beyond the axis.
        left, right = axes.get_xlim()
        for place, text, side in ((low, "called out ", "right"), (high, " called in", "left")):
            if left < place < right:
                axes.axvline(place, color=INK, linewidth=1.2)
                axes.text(
                    *(place, 1.01, text),
                    transform=axes.get_xaxis_transform(),
                    ha=side,
                    va="bottom",
                    fontsize=9,
                )
        axes.set_ylabel("share of canaries")
        axes.set_xlabel(f"score by {short(judged.attack, 40)}: the further right, the more like in")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
        return figure
