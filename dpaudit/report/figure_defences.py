"""Figure: what each defence leaves of the leak, against what it leaves of the accuracy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpaudit.errors import BadInput
from dpaudit.judging.compare import Comparison, Defended
from dpaudit.judging.utility import Utility
from dpaudit.report.drawing import FAINT, INK, MUTED, OUT, blank, short, style
from dpaudit.results import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 30
"""Of a name beside its row."""

ROW = 0.21
"""Inches."""

RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 8,
    "color": OUT,
    "markerfacecolor": "none",
    "linestyle": "none",
    "zorder": 5,
}
"""An estimate, seen around a certified epsilon that is the same."""


def draw(comparison: Comparison) -> Figure:
    """A row for each defence: its epsilons on the left, and on the right what it costs.

    Many defences have nearly the same accuracy, and several the same epsilon: over one another
    they would hide each other, and moved aside they would say what is not so.
    """
    useful = [(d, d.utility) for d in comparison.defended if d.utility is not None]
    if not useful:
        raise BadInput(
            "there is no accuracy to draw the leak against: the run kept no outputs on test "
            "records, or no defence lets a label out",
            "no-accuracy",
        )
    with style():
        figure = blank(1.3 + ROW * len(useful))
        leak, use = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        _leak(leak, [d for d, _ in useful])
        _use(use, [utility for _, utility in useful])
        leak.set_yticks(range(len(useful)), [short(d.defence, LONGEST) for d, _ in useful])
        leak.set_ylim(len(useful) - 0.5, -0.5)
        for axes in (leak, use):
            axes.tick_params(axis="y", length=0)
            axes.grid()
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def _leak(axes: Axes, defended: Sequence[Defended]) -> None:
    """What is certified of the strongest attack, and its published estimate on its null."""
    for row, d in enumerate(defended):
        if (p := _published(d)) is not None:
            axes.barh(row, p.null_q95 - p.null_mean, 0.55, p.null_mean, color=FAINT, zorder=2)
            axes.plot(p.epsilon_in_sample, row, **RING)
        if (epsilon := _certified(d)) is not None:
            axes.plot(epsilon, row, "o", color=INK, zorder=4)
    axes.plot([], [], "o", color=INK, label="certified")
    axes.plot([], [], **RING, label="published estimate")
    axes.plot([], [], color=FAINT, linewidth=5, label="that, with no leak (mean to 95 %)")
    axes.set_xlim(left=min(-0.03 * axes.get_xlim()[1], -0.03))
    axes.set_xlabel("epsilon of the strongest attack")


def _use(axes: Axes, measured: Sequence[Utility]) -> None:
    """The accuracy, and how much more it could be if every record had a label."""
    for row, utility in enumerate(measured):
        right, tied = 100 * utility.accuracy, 100 * utility.undecidable
        axes.plot([right, right + tied], [row, row], color=MUTED, linewidth=1.5, zorder=2)
        axes.plot(right, row, "s", color=INK, markersize=5, zorder=3)
    axes.plot([], [], "s-", color=MUTED, markerfacecolor=INK, label="accuracy, and without a label")
    axes.margins(x=0.1)
    axes.set_xlabel("accuracy, %")


def _certified(d: Defended) -> float | None:
    """The most that is certified of the strongest attack; none where no attack fits."""
    return max((b.epsilon for b in d.bounds if b.attack == d.strongest), default=None)


def _published(d: Defended) -> Published | None:
    """The published estimate of the strongest attack, where it is a number."""
    for p in d.published:
        drawn = (p.epsilon_in_sample, p.null_mean, p.null_q95)
        if p.attack == d.strongest and all(map(math.isfinite, drawn)):
            return p
    return None
