"""Figures of several methods side by side: a calibration, a comparison of defences, a plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.calibration.results import Calibrated, Calibration
from dpaudit.errors import BadInput
from dpaudit.judging.compare import Comparison, Defended
from dpaudit.judging.plan import Course
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.judging.utility import Utility
from dpaudit.report.drawing import CLAIM, FAINT, IN, INK, MUTED, OUT, blank, short, style
from dpaudit.report.formats import nearest, percent
from dpaudit.report.plan import mechanism
from dpaudit.types import Array, Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# ---------------------------------------------------------------- a calibration

KINDS = {
    "bound": (OUT, "o", "bound"),
    "credible": (MUTED, "^", "credible under a prior"),
    "no bound": (IN, "s", "no bound"),
}
TICKS = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)


def draw_calibration(found: Calibration) -> Figure:
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


def _way(row: Calibrated) -> tuple[str, int, str, str]:
    return row.standing, row.trials, row.attack, row.judged


def _column(
    axes: Axes, rows: Sequence[Calibrated], ways: Sequence[tuple[str, int, str, str]], level: float
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
                f"{100 * row.share:.0f} %" if math.isfinite(row.share) else "∞", xy=(1, y), **beside
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


# ---------------------------------------------------------------- a comparison of defences


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


def draw_defences(comparison: Comparison) -> Figure:
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


# ---------------------------------------------------------------- a plan


LOOKS = ((INK, "o"), (OUT, "s"), (IN, "^"), ("#9467bd", "D"), ("#8c6d1f", "v"))
"""Colour and marker of each estimator, told apart by shape too."""

ABOVE = 2.0
"""A ceiling so many times the true epsilon is cut off, lest it flatten the rest."""

NEAR = 0.2
"""A share of the axis: two names closer than this go to either side of their lines."""


def draw_plan(question: PlanRequest, found: Sequence[Course]) -> Figure:
    """Bounds over the number of models, or canaries, on a logarithmic scale."""
    with style():
        figure = blank(4.6)
        axes = figure.add_subplot()
        for course, look in zip(found, LOOKS, strict=False):
            _course(axes, course, *look)
        true, claim = question.truth.true, question.claim
        axes.axvline(question.number, color=FAINT, linewidth=4, zorder=0)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        highest = max(true, *(ceiling for course in found for ceiling in course.ceilings))
        axes.set_ylim(0, top := min(ABOVE * true, 1.1 * highest))
        near = true - claim < NEAR * top
        _level(axes, claim, f"claim {nearest(claim)}", CLAIM, "top" if near else "center")
        supposed = fill(f"supposed: {nearest(true)} of {mechanism(question)}", 13)
        _level(axes, true, supposed, MUTED, "bottom" if near else "center")
        axes.set_xlabel("\n".join([_below(question), *filter(None, map(_cut_short, found))]))
        axes.set_ylabel("epsilon")
        axes.grid(axis="y")
        axes.plot([], [], ":", color=MUTED, label="ceiling (up to which it can go)")
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def _course(axes: Axes, course: Course, color: str, marker: str) -> None:
    axes.plot(course.numbers, course.ceilings, ":", color=color, linewidth=1.4)
    shown = [
        (n, e) for n, e in zip(course.numbers, course.typical, strict=True) if not math.isnan(e)
    ]
    axes.plot(
        [n for n, _ in shown],
        [e for _, e in shown],
        marker=marker,
        color=color,
        markersize=4.5,
        linewidth=1.4,
        label=f"{course.estimator}, typical bound",
    )


def _cut_short(course: Course) -> str:
    """That a course ends before the others, and why."""
    if not any(map(math.isnan, course.typical)):
        return ""
    last = max(n for n, e in zip(course.numbers, course.typical, strict=True) if not math.isnan(e))
    return f"{course.estimator} is simulated up to {last:,} only: more would take long"


def _level(axes: Axes, epsilon: float, text: str, color: str, side: str) -> None:
    """A line through all, named beside the axes, where the name hides nothing."""
    axes.axhline(epsilon, color=color, linewidth=2 if color == CLAIM else 1)
    axes.annotate(
        text,
        xy=(1, epsilon),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        color=color,
        ha="left",
        va=side,
        annotation_clip=False,
    )


def _below(question: PlanRequest) -> str:
    if question.size.canaries is not None:
        return f"canaries in one training (asked for: {question.number:,})"
    return f"models in all (asked for: {question.number:,})"
