"""Figure: what each defence leaves of the leak, against what it leaves of the accuracy."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.compare import Comparison, Defended
from dpaudit.errors import BadInput
from dpaudit.report.drawing import CLAIM, FAINT, IN, INK, MUTED, OUT, blank, short, style
from dpaudit.types import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (INK, IN, OUT, CLAIM, "#9467bd", "#8c6d1f", "#cc79a7", "#7f7f7f")
MARKERS = "os^Dv<>pX"
"""Each defence has its own of both; one more colour than the other, so that pairs repeat late."""

LONGEST = 34
"""Of a name in the key, of which two are side by side."""

ROOM = 0.025
"""Of the width, for each defence: as wide as a marker."""

NUMBER = re.compile(r":[^\s+]+")


def draw(comparison: Comparison) -> Figure:
    """Epsilon over accuracy: a shape for each defence, and a line through its several numbers."""
    families = _families(comparison.defended)
    if not families:
        raise BadInput(
            "there is no accuracy to draw the leak against: the run kept no outputs on test "
            "records, or no defence lets a label out"
        )
    with style():
        figure = blank(4.0 + 0.19 * math.ceil((len(families) + 3) / 2))
        axes = figure.add_subplot()
        for i, family in enumerate(families):
            _family(axes, family, COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)])
        _key(axes)
        axes.set_xlabel("accuracy behind the defence, % (equal ones stand side by side)")
        axes.set_ylabel("epsilon of the strongest attack")
        axes.set_ylim(bottom=min(-0.05 * axes.get_ylim()[1], -0.03))
        axes.grid(axis="y")
        figure.legend(loc="outside lower center", ncols=2)
        return figure


@dataclass(frozen=True)
class _Point:
    defence: str
    x: float
    certified: float | None
    published: Published | None


def _families(defended: Sequence[Defended]) -> list[list[_Point]]:
    """The defences that have an accuracy; those that differ in numbers alone are together."""
    useful = [d for d in defended if d.utility is not None]
    places = _apart([100 * d.utility.accuracy for d in useful if d.utility is not None])
    found: dict[str, list[_Point]] = {}
    for d, x in zip(useful, places, strict=True):
        point = _Point(d.defence, x, _certified(d), _published(d))
        found.setdefault(NUMBER.sub(":", d.defence), []).append(point)
    return list(found.values())


def _apart(accuracies: Sequence[float]) -> list[float]:
    """Places as near to the accuracies as may be, and so far from each other that all are seen.

    With the least squared displacement: isotonic regression of what is left of each once its
    share of the room is taken off.
    """
    if not accuracies:
        return []
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(accuracies, kind="stable")
    room = ROOM * (np.ptp(accuracies) or 1.0) * np.arange(len(order))
    places = np.empty(len(order))
    places[order] = isotonic_regression(np.array(accuracies)[order] - room) + room
    return [float(place) for place in places]


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


def _family(axes: Axes, family: Sequence[_Point], color: str, marker: str) -> None:
    look: dict[str, Any] = {"color": color, "marker": marker, "markersize": 6, "linewidth": 1.0}
    estimated = [(d.x, d.published) for d in family if d.published is not None]
    for x, p in estimated:
        axes.plot([x, x], [p.null_mean, p.null_q95], color=FAINT, linewidth=5, zorder=0)
    axes.plot(
        [x for x, _ in estimated],
        [p.epsilon_in_sample for _, p in estimated],
        linestyle=":",
        markerfacecolor="none",
        **look,
    )
    certified = [(d.x, d.certified) for d in family if d.certified is not None]
    axes.plot([x for x, _ in certified], [e for _, e in certified], label=_name(family), **look)


def _name(family: Sequence[_Point]) -> str:
    """Of a defence with several numbers, with the first of them and the last."""
    first = family[0].defence
    if len(family) == 1:
        return short(first, LONGEST)
    last = " ".join(number[1:] for number in NUMBER.findall(family[-1].defence))
    return short(f"{first} … {last}", LONGEST)


def _key(axes: Axes) -> None:
    """What is full, hollow and grey."""
    axes.plot([], [], "o", color=MUTED, label="full: certified")
    axes.plot([], [], "o", color=MUTED, markerfacecolor="none", label="hollow: published estimate")
    axes.plot([], [], color=FAINT, linewidth=5, label="grey: that, with no leak (mean to 95 %)")
