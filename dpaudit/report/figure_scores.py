"""Figure: how the scores of each attack spread in the two worlds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpaudit.report.drawing import IN, INK, MUTED, OUT, SMALL, blank, short, style
from dpaudit.report.histogram import End, Histogram, histogram
from dpaudit.report.judged import Judged
from dpaudit.report.worlds import PLANTED, Worlds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

COLUMNS = 3
SOLID, DASHED = "-", (0, (4, 1.2))


def draw(attacks: list[Judged], units: str = "models", worlds: Worlds = PLANTED) -> Figure:
    """The deciding attack large, the others small below it."""
    first, *others = attacks
    lines = -(-len(others) // COLUMNS)
    with style():
        figure = blank(2.9 + 1.75 * lines)
        grid = figure.add_gridspec(1 + lines, COLUMNS, height_ratios=[1.5] + [1] * lines)
        large = figure.add_subplot(grid[0, :])
        names = worlds.out, worlds.inn
        panel(large, first, ticks=7, ends=0.07, names=names)
        large.set_title(f"{short(first.attack, 50)} (decides)")
        large.set_ylabel(f"share of {units}")
        note = f"\n{off}" if (off := off_scale(first)) else ""
        large.set_xlabel(f"score: the further right, the more like {units} {worlds.inn}{note}")
        for i, attack in enumerate(others):
            small = figure.add_subplot(grid[1 + i // COLUMNS, i % COLUMNS])
            panel(small, attack, ticks=3, ends=0.12, names=names)
            small.set_title(short(attack.attack, 20), fontsize=SMALL)
            small.set_xlabel(off_scale(attack), fontsize=8)
            small.tick_params(labelsize=8)
        figure.legend(*large.get_legend_handles_labels(), loc="outside upper left", ncols=3)
        return figure


def panel(axes: Axes, attack: Judged, ticks: int, ends: float, names: tuple[str, str]) -> None:
    """One attack's scores in the two worlds; `names` are theirs."""
    from matplotlib.ticker import PercentFormatter

    made = histogram(attack.scores, attack.cut)
    edges, positions = made.edges, []
    for name, color, shares, line in (
        (names[0], OUT, made.out, SOLID),
        (names[1], IN, made.inn, DASHED),
    ):
        axes.stairs(shares, edges, fill=True, color=color, alpha=0.35, linewidth=0, label=name)
        axes.stairs(shares, edges, color=color, linewidth=1.4, linestyle=line)
    step = (edges[-1] - edges[0]) * ends
    for end, edge, way in ((made.below, edges[0], -1), (made.above, edges[-1], 1)):
        if end is not None:
            axes.axvline(edge + way * step / 2, color=MUTED, linewidth=0.8, linestyle=":")
            _end(axes, end, edge + way * step * 1.2, step)
            # In a line of its own, where it cannot run into a number.
            positions.append((edge + way * step * 1.2, f"\n{end.label}"))
    if attack.cut is not None and not off_scale(attack):
        axes.axvline(attack.cut, color=INK, linewidth=1.4, label="the rule's cut")
    axes.margins(x=0.01)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_locator(_locator(4))
    _ticks(axes, made, positions, ticks)


def _end(axes: Axes, end: End, centre: float, step: float) -> None:
    """Bars for what lies beyond the axis, side by side."""
    for share, color, line, left in (
        (end.out, OUT, SOLID, centre - step / 2),
        (end.inn, IN, DASHED, centre),
    ):
        edges = [left, left + step / 2]
        axes.stairs([share], edges, fill=True, color=color, alpha=0.35, linewidth=0)
        axes.stairs([share], edges, color=color, linewidth=1.4, linestyle=line)


def off_scale(attack: Judged) -> str:
    """Why no line shows the cut: at the axis' end it would claim to part what lies beyond."""
    if attack.cut is None:
        return ""
    if math.isinf(attack.cut):
        return "the rule never says 'with'" if attack.cut > 0 else "the rule always says 'with'"
    edges = histogram(attack.scores, attack.cut).edges
    return "" if edges[0] <= attack.cut <= edges[-1] else f"the cut, {attack.cut:.3g}, is far off"


def _ticks(axes: Axes, made: Histogram, ends: list[tuple[float, str]], count: int) -> None:
    from matplotlib.ticker import ScalarFormatter

    edges = made.edges
    places = _locator(count).tick_values(edges[0], edges[-1])
    places = [x for x in places if edges[0] <= x <= edges[-1]]
    formatter = ScalarFormatter(useOffset=False)
    formatter.set_axis(axes.xaxis)
    formatter.set_scientific(False)
    labels = formatter.format_ticks(places)
    axes.set_xticks([*places, *(x for x, _ in ends)], [*labels, *(name for _, name in ends)])


def _locator(count: int) -> MaxNLocator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count, steps=[1, 2, 2.5, 5, 10])
