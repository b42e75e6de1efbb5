"""Figure: what so many models could show, and would typically, by estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

from dpaudit.judging.plan import PlanCurve
from dpaudit.judging.plan_request import PlanRequest
from dpaudit.report.drawing import CLAIM, FAINT, IN, INK, MUTED, OUT, blank, style
from dpaudit.report.formats import nearest
from dpaudit.report.plan import mechanism

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS = ((INK, "o"), (OUT, "s"), (IN, "^"), ("#9467bd", "D"), ("#8c6d1f", "v"))
"""Colour and marker of each estimator, told apart by shape too."""

ABOVE = 2.0
"""A ceiling so many times the true epsilon is cut off, lest it flatten the rest."""

NEAR = 0.2
"""A share of the axis: two names closer than this go to either side of their lines."""


def draw(question: PlanRequest, found: Sequence[PlanCurve]) -> Figure:
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


def _course(axes: Axes, course: PlanCurve, color: str, marker: str) -> None:
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


def _cut_short(course: PlanCurve) -> str:
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
