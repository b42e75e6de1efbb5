"""Figure of a ladder: the certified epsilon of each adversary against the claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpaudit.judging.ladder import Ladder
from dpaudit.report.drawing import (
    FAR,
    INK,
    MUTED,
    OUT,
    PAPER,
    SMALL,
    blank,
    claim_line,
    name_rows,
)
from dpaudit.report.formats import at_least, nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(ladder: Ladder, digits: int) -> Figure:
    """Draw a bar for each kind of bound of each adversary, with its number, and the claim."""
    claimed, height = ladder.claim.epsilon, 0.36
    kinds = (
        ("certified by curve", OUT, [rung.by_curve for rung, *_ in ladder.played]),
        ("certified, assuming nothing", MUTED, [r.without_assumptions for r, *_ in ladder.played]),
    )
    shown = [(name, color, bounds) for name, color, bounds in kinds if any(bounds)]
    largest = max(bound.epsilon for *_, bounds in shown for bound in bounds if bound)
    beyond = not math.isfinite(claimed) or 0 < FAR * largest < claimed
    end = largest if beyond else max(largest, claimed)
    with blank(1.3 + 0.5 * len(ladder.played)) as figure:
        axes = figure.add_subplot()
        for i, (name, color, bounds) in enumerate(shown):
            there = [(y, bound.epsilon) for y, bound in enumerate(bounds) if bound]
            places = [y + height * (i - (len(shown) - 1) / 2) for y, _ in there]
            axes.barh(places, [x for _, x in there], 0.9 * height, color=color, label=name)
            for place, (_, x) in zip(places, there, strict=True):
                inside = x > end / 6
                look: dict[str, Any] = {"ha": "right" if inside else "left", "va": "center"}
                look |= {"color": PAPER if inside else INK, "textcoords": "offset points"}
                offset = (-4 if inside else 3, 0)
                axes.annotate(at_least(x, digits), (x, place), offset, fontsize=SMALL, **look)
        if math.isfinite(claimed):
            claim_line(axes, claimed, f"claim {nearest(claimed, digits)}", end)
        axes.set_xlim(0, 1.1 * end or 1.0)
        axes.set_xlabel("epsilon: 0 is no leak, more is worse")
        name_rows(axes, [rung.name for rung, *_ in ladder.played])
        figure.legend(loc="outside lower center", ncols=2)
        return figure
