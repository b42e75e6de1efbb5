"""Figure: how often each way is above the truth, against what it states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.calibration.results import Calibration, CalibrationRow
from dpaudit.report.drawing import CLAIM, IN, INK, MUTED, OUT, blank, short, style
from dpaudit.report.formats import nearest, percent
from dpaudit.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {
    "bound": (OUT, "o", "bound"),
    "credible": (MUTED, "^", "credible under a prior"),
    "no bound": (IN, "s", "no bound"),
}
TICKS = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)


def draw(found: Calibration) -> Figure:
    """A column for each mechanism, a line for each way."""
    mechanisms = list(dict.fromkeys(row.mechanism for row in found.rows))
    order = {kind: i for i, kind in enumerate(KINDS)}
    ways = sorted(dict.fromkeys(map(_way, found.rows)), key=lambda way: (order[way[0]], way[1]))
    usual = found.setting.trials
    with style():
        figure = blank(1.7 + 0.19 * len(ways))
        figure.set_figwidth(2.6 + 1.9 * len(mechanisms))
        columns = figure.subplots(1, len(mechanisms), sharey=True, squeeze=False)[0]
        for axes, mechanism in zip(columns, mechanisms, strict=True):
            rows = [row for row in found.rows if row.mechanism == mechanism]
            _column(axes, rows, ways, found.setting.level)
        columns[0].set_yticks(
            [-i for i in range(len(ways))],
            [
                short(f"{attack}: {judged}" + ("" if trials == usual else f" ({trials:,})"), 44)
                for _, trials, attack, judged in ways
            ],
        )
        columns[0].set_ylim(-len(ways) + 0.4, 0.6)
        figure.supxlabel(
            "false alarms: audits above the true epsilon, in %\n"
            "(at the right of a row: its mean as a share of the true epsilon)",
            fontsize=9,
        )
        handles: dict[str, Any] = {}
        for axes in columns:
            drawn, labels = axes.get_legend_handles_labels()
            handles.update(zip(labels, drawn, strict=True))
        figure.legend(
            list(handles.values()), list(handles), loc="outside upper center", ncols=len(handles)
        )
        return figure


def _way(row: CalibrationRow) -> tuple[str, int, str, str]:
    return row.standing, row.trials, row.attack, row.judged


def _column(
    axes: Axes,
    rows: Sequence[CalibrationRow],
    ways: Sequence[tuple[str, int, str, str]],
    level: float,
) -> None:
    parts = f"{rows[0].mechanism}, epsilon {nearest(rows[0].epsilon)}".split(", ")
    axes.set_title("\n".join(parts), fontsize=8)
    axes.axvline(level, color=CLAIM, linewidth=1.5, label=f"what bounds state: {percent(level)}")
    beside: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "xytext": (26, 0),
        "textcoords": "offset points",
        "ha": "right",
        "va": "center",
        "fontsize": 6.5,
        "color": MUTED,
        "annotation_clip": False,
    }
    for row in rows:
        y = -ways.index(_way(row))
        color, marker, label = KINDS[row.standing]
        axes.plot(row.interval, [y, y], color=color, linewidth=1.5)
        edge: dict[str, Any] = {"mec": INK, "mew": 0.4, "clip_on": False, "zorder": 3}
        axes.plot(row.rate, y, marker, color=color, ls="", ms=5, label=label, **edge)
        if row.share is not None:
            axes.annotate(
                f"{100 * row.share:.0f} %" if math.isfinite(row.share) else "∞",
                xy=(1, y),
                **beside,
            )
    # Rates near 0 matter, and so do those near 1.
    axes.set_xscale("function", functions=(_root, _square))
    axes.set_xticks(TICKS, [f"{100 * x:g}" for x in TICKS])
    axes.set_xlim(0, 1.03)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


def _root(x: Array) -> Array:
    return np.sqrt(np.abs(x))


def _square(x: Array) -> Array:
    return np.square(x)
