"""Figures of several methods side by side: a calibration, a comparison of defences, a plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.calibration.results import Calibration, CalibrationRow
from dpaudit.errors import BadInput
from dpaudit.judging.compare import Comparison, ComparisonRow
from dpaudit.judging.plan import PlanCurve
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.report.drawing import CLAIM, FAINT, IN, INK, MUTED, OUT, beside, blank, name_rows
from dpaudit.report.formats import nearest, percent, shorten
from dpaudit.report.plan import mechanism
from dpaudit.results import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = {
    "bound": (OUT, "o", "bound"),
    "credible": (MUTED, "^", "credible under a prior"),
    "no bound": (IN, "s", "no bound"),
}
TICKS = (0.0, 0.01, 0.05, 0.2, 0.5, 1.0)


def draw_calibration(calibration: Calibration) -> Figure:
    """Draw a column for each mechanism, and in it a row for each method."""
    mechanisms = list(dict.fromkeys(row.mechanism for row in calibration.rows))
    order = list(KINDS)
    methods = sorted(
        dict.fromkeys(map(_method, calibration.rows)),
        key=lambda method: (order.index(method[0]), method[1]),
    )
    names = [
        shorten(f"{attack}: {judged}{'' if n == calibration.setting.trials else f' ({n:,})'}", 44)
        for _, n, attack, judged in methods
    ]
    with blank(1.7 + 0.19 * len(methods)) as figure:
        figure.set_figwidth(2.6 + 1.9 * len(mechanisms))
        columns = figure.subplots(1, len(mechanisms), sharey=True, squeeze=False)[0]
        for axes, mechanism in zip(columns, mechanisms, strict=True):
            rows = [row for row in calibration.rows if row.mechanism == mechanism]
            name_rows(axes, names)
            _column(axes, rows, methods, calibration.setting.level)
        figure.supxlabel(
            "false alarms: audits above the true epsilon, in %\n"
            "(at the right of a row: its mean as a share of the true epsilon)",
            fontsize=9,
        )
        drawn = (axes.get_legend_handles_labels() for axes in columns)
        known = {label: handle for pair in drawn for handle, label in zip(*pair, strict=True)}
        figure.legend(known.values(), known, loc="outside upper center", ncols=len(known))
        return figure


def _method(row: CalibrationRow) -> tuple[str, int, str, str]:
    return row.standing, row.trials, row.attack, row.judged


def _column(
    axes: Axes,
    rows: Sequence[CalibrationRow],
    methods: Sequence[tuple[str, int, str, str]],
    level: float,
) -> None:
    parts = f"{rows[0].mechanism}, epsilon {nearest(rows[0].epsilon)}".split(", ")
    axes.set_title("\n".join(parts), fontsize=8)
    axes.axvline(level, color=CLAIM, linewidth=1.5, label=f"what bounds state: {percent(level)}")
    edge: dict[str, Any] = {"mec": INK, "mew": 0.4, "clip_on": False, "zorder": 3}
    for row in rows:
        y = methods.index(_method(row))
        color, marker, label = KINDS[row.standing]
        axes.plot(row.interval, [y, y], color=color, linewidth=1.5)
        axes.plot(row.rate, y, marker, color=color, ls="", ms=5, label=label, **edge)
        if row.share is not None:
            share = f"{100 * row.share:.0f} %" if math.isfinite(row.share) else "∞"
            beside(axes, y, share, MUTED, offset=26, ha="right", fontsize=6.5)
    # Rates near 0 matter, and so do those near 1.
    axes.set_xscale("function", functions=(lambda x: np.sqrt(np.abs(x)), np.square))
    axes.set_xticks(TICKS, [f"{100 * x:g}" for x in TICKS])
    axes.set_xlim(0, 1.03)


RING: dict[str, Any] = {
    **{"marker": "o", "markersize": 8, "color": OUT, "markerfacecolor": "none"},
    **{"linestyle": "none", "zorder": 5},
}
"""An estimate, seen around a certified epsilon that is the same."""


def draw_defences(comparison: Comparison) -> Figure:
    """Draw a row for each defence: its epsilons on the left, and on the right what it costs.

    Many defences have nearly the same accuracy, and several the same epsilon: in one panel they
    would hide each other.
    """
    useful = [(d, d.utility) for d in comparison.rows if d.utility is not None]
    if not useful:
        raise BadInput(
            "there is no accuracy to draw the leak against: the run kept no outputs on test "
            "records, or no defence lets a label out",
            "no-accuracy",
        )
    with blank(1.3 + 0.21 * len(useful)) as figure:
        leak, use = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
        for y, (d, utility) in enumerate(useful):
            if (p := _estimate(d)) is not None:
                leak.barh(y, p.null_q95 - p.null_mean, 0.55, p.null_mean, color=FAINT, zorder=2)
                leak.plot(p.epsilon_in_sample, y, **RING)
            if bounds := [b.epsilon for b in d.bounds if b.attack == d.strongest]:
                leak.plot(max(bounds), y, "o", color=INK, zorder=4)
            right, tied = 100 * utility.accuracy, 100 * utility.undecidable
            use.plot([right, right + tied], [y, y], color=MUTED, linewidth=1.5, zorder=2)
            use.plot(right, y, "s", color=INK, markersize=5, zorder=3)
        leak.plot([], [], "o", color=INK, label="certified")
        leak.plot([], [], **RING, label="in-sample estimate (not a bound)")
        leak.plot([], [], color=FAINT, linewidth=5, label="that, with no leak (mean to 95 %)")
        leak.set_xlim(left=min(-0.03 * leak.get_xlim()[1], -0.03))
        leak.set_xlabel("epsilon of the strongest attack")
        label = "accuracy, and without a label"
        use.plot([], [], "s-", color=MUTED, markerfacecolor=INK, label=label)
        use.margins(x=0.1)
        use.set_xlabel("accuracy, %")
        for axes in (leak, use):
            name_rows(axes, [shorten(d.defence, 30) for d, _ in useful])
            axes.grid()
        figure.legend(loc="outside lower center", ncols=2)
        return figure


def _estimate(d: ComparisonRow) -> Published | None:
    """Return the in-sample estimate of the strongest attack, if it is a number."""
    for p in d.published:
        numbers = (p.epsilon_in_sample, p.null_mean, p.null_q95)
        if p.attack == d.strongest and all(map(math.isfinite, numbers)):
            return p
    return None


LOOKS = ((INK, "o"), (OUT, "s"), (IN, "^"), ("#9467bd", "D"), ("#8c6d1f", "v"))
"""Colour and marker of each estimator, told apart by shape too."""

ABOVE = 2.0
"""A ceiling so many times the true epsilon is cut off: it would flatten the rest."""

NEAR = 0.2
"""A share of the axis: two names closer than this go to either side of their lines."""


def draw_plan(request: PlanRequest, courses: Sequence[PlanCurve]) -> Figure:
    """Draw bounds over the number of models, or canaries, on a logarithmic scale."""
    true, claim = request.truth.true, request.claim
    units = "models in all" if request.size.canaries is None else "canaries in one training"
    with blank(4.6) as figure:
        axes = figure.add_subplot()
        notes = [f"{units} (asked for: {request.number:,})"]
        for course, (color, marker) in zip(courses, LOOKS, strict=False):
            name, numbers = course.estimator, np.asarray(course.numbers)
            axes.plot(numbers, course.ceilings, ":", color=color, linewidth=1.4)
            typical = np.asarray(course.typical)
            known = ~np.isnan(typical)
            look: dict[str, Any] = {"marker": marker, "markersize": 4.5, "linewidth": 1.4}
            label = f"{name}, typical bound"
            axes.plot(numbers[known], typical[known], color=color, label=label, **look)
            if not known.all():
                last = numbers[known].max()
                notes.append(f"{name} is simulated up to {last:,} only: more would take long")
        axes.axvline(request.number, color=FAINT, linewidth=4, zorder=0)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
        highest = max(true, *(ceiling for course in courses for ceiling in course.ceilings))
        axes.set_ylim(0, top := min(ABOVE * true, 1.1 * highest))
        near = true - claim < NEAR * top
        supposed = fill(f"supposed: {nearest(true)} of {mechanism(request)}", 13)
        axes.axhline(claim, color=CLAIM, linewidth=2)
        axes.axhline(true, color=MUTED, linewidth=1)
        beside(axes, claim, f"claim {nearest(claim)}", CLAIM, va="top" if near else "center")
        beside(axes, true, supposed, MUTED, va="bottom" if near else "center")
        axes.set_xlabel("\n".join(notes))
        axes.set_ylabel("epsilon")
        axes.grid(axis="y")
        axes.plot([], [], ":", color=MUTED, label="ceiling (up to which it can go)")
        figure.legend(loc="outside lower center", ncols=2)
        return figure
