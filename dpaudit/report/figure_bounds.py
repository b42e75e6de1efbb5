"""Figures of what was found against the claim: bounds by attack, and evidence by models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.report.drawing import (
    CLAIM,
    FAINT,
    FAR,
    INK,
    MUTED,
    OUT,
    PAPER,
    blank,
    claim_line,
    name_rows,
)
from dpaudit.report.formats import nearest, shorten, value
from dpaudit.report.run_attacks import AttackRow, attack_rows, slots
from dpaudit.results import Bound, Growth, Published, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = {"by curve": "s", "no assumptions": "o", "by prior": "^"}
DECIDES, CEILING, BEYOND = "certified, decides", "ceiling", "ceiling, far to the right"
ESTIMATE, NULL = "in-sample estimate (not a bound)", "on shuffled labels, mean to 95 %"

NEAR = 1.5
"""A ceiling so many times beyond all else is pointed to."""

LEAST = 1e-3
"""Less is drawn as this: how much of a stake is lost says nothing of the claim."""

MOST = 1e3
"""Times what is needed: more is drawn as this: it would flatten the way there."""


@dataclass(frozen=True)
class Axis:
    """An axis that ends at `end`, and has a place for infinite values at `infinity`."""

    end: float
    infinity: float | None

    def place(self, x: float) -> float:
        """Return the place of a value that is not NaN."""
        return x if math.isfinite(x) or self.infinity is None else self.infinity


def axis(report: Report) -> Axis:
    """Make an axis with room for every finite value, and for infinity if it occurs."""
    values = [x for row in attack_rows(report) for x in _values(row) if not math.isnan(x)]
    ceilings = [bound.ceiling for bound in report.bounds]
    finite = [x for x in (*values, min(ceilings)) if math.isfinite(x)]
    largest = max(finite, default=0.0) or 1.0
    claimed = report.claim.epsilon
    if math.isfinite(claimed) and claimed <= FAR * largest:
        largest = max(largest, claimed)
    near = [x for x in ceilings if x <= NEAR * largest]
    end = 1.06 * max([largest, *near])
    infinite = any(map(math.isinf, [*values, *ceilings, claimed]))
    return Axis(end, 1.13 * end if infinite else None)


def draw(report: Report, digits: int) -> Figure:
    """Draw a row for each attack, in the order of the table."""
    rows, scale, columns = attack_rows(report), axis(report), slots(report.bounds)
    with blank(1.75 + (0.3 + 0.12 * len(columns)) * len(rows)) as figure:
        axes = figure.add_subplot()
        for i, row in enumerate(rows):
            _row(axes, row, i, columns, scale)
        claimed = report.claim.epsilon
        text = f"claim {nearest(claimed, digits)}" if report.claim.guarantees else "no claim"
        claim_line(axes, scale.place(claimed), text, scale.infinity or scale.end)
        _frame(axes, rows, scale)
        known = {line.get_label(): line for line in axes.get_lines()}
        order = [DECIDES, *map(_never, columns), CEILING, BEYOND, ESTIMATE, NULL]
        shown = [known[name] for name in order if name in known]
        figure.legend(handles=shown, loc="outside lower center", ncols=2)
        return figure


def _values(row: AttackRow) -> list[float]:
    p = row.published
    estimate = [p.epsilon_in_sample] if p else []
    null = [p.null_mean, p.null_q95] if p and _shuffled(p) else []
    return [*(bound.epsilon for bound in row.bounds.values()), *estimate, *null]


def _shuffled(p: Published) -> bool:
    return p.permutations > 0 and not math.isnan(p.null_mean + p.null_q95)


def _never(slot: str) -> str:
    """Return the legend of a bound that does not decide."""
    return f"{slot}, never decides" if slot != "by prior" else "credible by prior"


def _row(axes: Axes, row: AttackRow, y: float, columns: list[str], scale: Axis) -> None:
    # The estimate on top, below it a line for each kind of bound; these alone in the middle.
    p, n = row.published, len(columns)
    up = 0.24 if p is not None else 0.24 + 0.24 / n
    top, *lines = (y - up + 0.48 * i / n for i in range(n + 1))
    if p is not None:
        if _shuffled(p):
            ends = scale.place(p.null_mean), scale.place(p.null_q95)
            band: dict[str, Any] = {"linewidth": 9, "solid_capstyle": "butt", "label": NULL}
            axes.plot(ends, [top] * 2, color=FAINT, **band)
        estimate = scale.place(p.epsilon_in_sample)
        axes.plot(estimate, top, "D", color=MUTED, ls="", mfc=PAPER, ms=6, label=ESTIMATE)
    for slot, line in zip(columns, lines, strict=True):
        if slot not in row.bounds:
            continue
        low, high = row.bounds[slot].epsilon, scale.place(row.bounds[slot].ceiling)
        decides = slot == row.deciding
        color, size, name = (INK, 9, DECIDES) if decides else (MUTED, 6, _never(slot))
        beyond = math.isfinite(high) and high > max(scale.end, scale.infinity or 0.0)
        high, end, known = (scale.end, ">", BEYOND) if beyond else (high, "|", CEILING)
        axes.plot([low, high], [line] * 2, color=color, linewidth=0.8, linestyle=":")
        axes.plot(high, line, end, color=color, ls="", ms=7 if beyond else 11, mew=2, label=known)
        axes.plot(low, line, MARKERS[slot], color=color, ls="", ms=size, label=name)


def _frame(axes: Axes, rows: list[AttackRow], scale: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("epsilon: 0 is no leak, more is worse")
    decides = " (decides)"
    name_rows(axes, [shorten(r.attack, 24) + (decides if r.deciding else "") for r in rows])
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row.deciding else "normal")
    ticks = [x for x in MaxNLocator(9).tick_values(0, scale.end) if x <= scale.end]
    labels = [f"{x:g}" for x in ticks]
    if scale.infinity is not None:
        ticks, labels = [*ticks, scale.infinity], [*labels, "∞"]
        axes.axvline((scale.end + scale.infinity) / 2, color=MUTED, linewidth=0.8, linestyle=":")
    axes.set_xticks(ticks, labels)
    axes.set_xlim(-0.02 * scale.end, (scale.infinity or scale.end) * 1.03)


def draw_evidence(growth: Growth, bounds: Sequence[Bound], units: str) -> Figure:
    """Draw the wealth of a stake of 1 over the number of trials, on a logarithmic scale."""
    courses = ((growth.wealth, INK, "-"), (growth.beside, OUT, "--"))
    with blank(4.0) as figure:
        axes = figure.add_subplot()
        for (course, color, line), bound in zip(courses, bounds, strict=False):
            wealth = np.clip([1.0, *course], LEAST, MOST * growth.needed)
            label = f"{bound.estimator}{' (decides)' if bound is bounds[0] else ''}"
            trials = 2 * np.arange(len(wealth))
            axes.plot(trials, wealth, line, color=color, linewidth=1.4, label=label)
            axes.plot(trials[-1], wealth[-1], "o", color=color, ms=4, zorder=3, clip_on=False)
        axes.axhline(growth.needed, color=CLAIM, linewidth=2)
        box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1}
        look: dict[str, Any] = {"textcoords": "offset points", "color": CLAIM, "bbox": box}
        text = f"refutes the claim: {value(round(growth.needed, 6))}"
        axes.annotate(text, (0, growth.needed), (3, 5), ("axes fraction", "data"), **look)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda wealth, _: f"{wealth:g}")
        axes.yaxis.set_minor_formatter(lambda *_: "")
        axes.set_ylim(top=max(3 * growth.needed, axes.get_ylim()[1]))
        axes.set_xlabel(units)
        axes.set_ylabel("evidence against the claim")
        axes.grid(axis="y")
        figure.legend(loc="outside lower center", ncols=2)
        return figure
