"""Figure: what each attack found, against the claim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpaudit.report.drawing import CLAIM, FAINT, INK, MUTED, PAPER, blank, short, style
from dpaudit.report.formats import nearest
from dpaudit.report.table import Row, rows
from dpaudit.types import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CERTIFIED, OTHERS, CEILING = "certified epsilon", "certified epsilon, never decides", "ceiling"
ESTIMATE, NULL = "published estimate (no bound)", "same search, no leak: mean to 95 %"
LEGEND = (CERTIFIED, OTHERS, CEILING, ESTIMATE, NULL)

FAR = 5.0
"""A claim so many times beyond all else is pointed to, lest it flatten what was found."""


@dataclass(frozen=True)
class Axis:
    """Where a value is drawn: up to `end` in its place, an infinite one at `infinity`."""

    end: float
    infinity: float | None

    def place(self, x: float) -> float:
        """The place of a value that is not NaN."""
        return x if math.isfinite(x) or self.infinity is None else self.infinity


def axis(report: Report) -> Axis:
    """An axis from 0 that has room for every finite value, and for infinity where it occurs."""
    values = [x for row in rows(report) for x in _values(row) if not math.isnan(x)]
    largest = max([x for x in values if math.isfinite(x)], default=0.0) or 1.0
    claimed = report.claim.epsilon
    if math.isfinite(claimed) and claimed <= FAR * largest:
        largest = max(largest, claimed)
    end = 1.06 * largest
    return Axis(end, 1.13 * end if any(map(math.isinf, [*values, claimed])) else None)


def draw(report: Report, digits: int) -> Figure:
    """One line per attack, in the order of the table."""
    found, scale = rows(report), axis(report)
    with style():
        figure = blank(1.75 + 0.42 * len(found))
        axes = figure.add_subplot()
        for i, row in enumerate(found):
            _row(axes, row, -i, scale)
        _claim(axes, report, digits, scale)
        _frame(axes, found, scale)
        handles, labels = axes.get_legend_handles_labels()
        known = dict(zip(labels, handles, strict=True))
        shown = [name for name in LEGEND if name in known]
        figure.legend([known[x] for x in shown], shown, loc="outside lower center", ncols=2)
        return figure


def _values(row: Row) -> list[float]:
    values = [row.bound.epsilon, row.bound.ceiling] if row.bound else []
    if row.published:
        values.append(row.published.epsilon_in_sample)
        values += [row.published.null_mean, row.published.null_q95] if _shuffled(row) else []
    return values


def _shuffled(row: Row) -> bool:
    p = row.published
    return p is not None and p.permutations > 0 and not math.isnan(p.null_mean + p.null_q95)


def _row(axes: Axes, row: Row, y: float, scale: Axis) -> None:
    if row.published is not None:
        if _shuffled(row):
            ends = scale.place(row.published.null_mean), scale.place(row.published.null_q95)
            axes.plot(
                ends,
                [y + 0.16] * 2,
                color=FAINT,
                linewidth=9,
                solid_capstyle="butt",
                label=NULL,
            )
        axes.plot(
            scale.place(row.published.epsilon_in_sample),
            y + 0.16,
            "D",
            color=MUTED,
            ls="",
            markerfacecolor=PAPER,
            markersize=6,
            label=ESTIMATE,
        )
    if row.bound is not None:
        low, high = row.bound.epsilon, scale.place(row.bound.ceiling)
        color = INK if row.deciding else MUTED
        axes.plot([low, high], [y - 0.16] * 2, color=color, linewidth=0.8, linestyle=":")
        axes.plot(high, y - 0.16, "|", color=color, ls="", ms=11, mew=2, label=CEILING)
        name = CERTIFIED if row.deciding else OTHERS
        axes.plot(low, y - 0.16, "o", color=color, ls="", ms=9 if row.deciding else 6, label=name)


def _claim(axes: Axes, report: Report, digits: int, scale: Axis) -> None:
    claimed = report.claim.epsilon
    text = f"claim {nearest(claimed, digits)}"
    if math.isfinite(claimed) and claimed > scale.end:
        axes.annotate(
            f"{text}, far to the right",
            xy=(1, 1.05),
            xytext=(0.8, 1.05),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=CLAIM,
            ha="right",
            va="center",
            arrowprops={"arrowstyle": "->", "color": CLAIM},
        )
        return
    x = scale.place(claimed)
    axes.axvline(x, color=CLAIM, linewidth=2)
    axes.annotate(
        text,
        xy=(x, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        color=CLAIM,
        ha="center",
        va="bottom",
    )


def _frame(axes: Axes, found: list[Row], scale: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("epsilon: 0 is no leak, more is worse")
    axes.set_yticks(
        [-i for i in range(len(found))],
        [short(row.attack, 24) + (" (decides)" if row.deciding else "") for row in found],
    )
    axes.set_ylim(-len(found) + 0.45, 0.55)
    for label, row in zip(axes.get_yticklabels(), found, strict=True):
        label.set_fontweight("bold" if row.deciding else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    ticks = [x for x in MaxNLocator(9).tick_values(0, scale.end) if x <= scale.end]
    labels = [f"{x:g}" for x in ticks]
    if scale.infinity is not None:
        ticks, labels = [*ticks, scale.infinity], [*labels, "∞"]
        axes.axvline((scale.end + scale.infinity) / 2, color=MUTED, linewidth=0.8, linestyle=":")
    axes.set_xticks(ticks, labels)
    axes.set_xlim(-0.02 * scale.end, (scale.infinity or scale.end) * 1.03)
