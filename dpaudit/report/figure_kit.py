"""Figure: the first canaries of a kit, side by side, each with its label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.drawing import SMALL, WIDTH, blank, style
from dpaudit.report.figure_canary import as_picture, numbers
from dpaudit.types import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACROSS, DOWN = 10, 6
"""Pictures in a row, and rows of them."""

ROWS, FEATURES = 60, 400
"""Of flat records: how many are shown, and how much of each."""

COLUMNS = 79
"""Of a terminal, beside it."""


def draw(canaries: Records, flat: bool) -> Figure:
    """Pictures or, of flat records, one row of grey values each."""
    with style():
        return _rows(canaries) if flat else _pictures(canaries)


def _pictures(canaries: Records) -> Figure:
    shown = min(len(canaries), ACROSS * DOWN)
    down = -(-shown // ACROSS)
    figure = blank(0.4 + down * (WIDTH / ACROSS + 0.16))
    for i in range(shown):
        axes = figure.add_subplot(down, ACROSS, i + 1)
        picture = as_picture(numbers(canaries.x[i]))
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(f"{canaries.y[i]}", loc="center", fontsize=8, pad=2)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)
    figure.suptitle(_title(canaries, shown), fontsize=SMALL)
    return figure


def _rows(canaries: Records) -> Figure:
    shown = min(len(canaries), ROWS)
    values = numbers(canaries.x[:shown].reshape(shown, -1))[:, :FEATURES]
    figure = blank(1.0 + 0.11 * shown)
    axes = figure.add_subplot(1, 1, 1)
    axes.imshow(values, cmap="gray", aspect="auto", interpolation="nearest")
    axes.set_yticks(np.arange(shown), [str(y) for y in canaries.y[:shown]], fontsize=6)
    axes.set_ylabel("label")
    axes.set_xlabel("feature")
    axes.locator_params(axis="x", integer=True)
    figure.suptitle(_title(canaries, shown), fontsize=SMALL)
    return figure


def _title(canaries: Records, shown: int) -> str:
    part = (
        f"the first {shown} of {len(canaries):,} canaries"
        if shown < len(canaries)
        else f"all {shown} canaries"
    )
    return f"{part}, with their labels"
