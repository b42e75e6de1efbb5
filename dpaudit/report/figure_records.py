"""Figures of records: the canary beside its original, and the canaries of a kit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.drawing import MUTED, SMALL, WIDTH, blank
from dpaudit.report.figure_scores import HUGE
from dpaudit.types import Array, Records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAINTEST = 1e-9
"""Noise below this is none."""
LONGEST = 2_000
"""Features of a flat record that are drawn as bars."""
ACROSS, DOWN = 10, 6
"""Pictures of a kit in a row, and rows of them."""
ROWS, FEATURES = 60, 400
"""Flat records of a kit, and features of each."""


def draw(canary: Array, original: Array | None, label: str, replaced: bool = False) -> Figure:
    """Draw original, noise and result as pictures; flat records as bars.

    If the canary `replaced` the original, D has the one and D' the other, and no noise is drawn.
    """
    canary = numbers(canary)
    flat = is_flat(canary)
    panels = [(f"result{label}", canary)]
    if original is not None:
        original = numbers(original)
        panels = [("original record", original), _noise(canary - original, flat), *panels]
        if replaced:
            panels = [("in D", original), (f"in D'{label}", canary)]
    if flat:
        return _bars([(title, record.ravel()) for title, record in panels])
    with blank(2.1 if len(panels) > 1 else 2.8) as figure:
        for i, (title, record) in enumerate(panels):
            _image(figure.add_subplot(1, len(panels), i + 1), record).set_title(title, loc="center")
        return figure


def _noise(noise: Array, flat: bool) -> tuple[str, Array]:
    """Return noise with its title, amplified if it is to be drawn as pixels."""
    if flat:
        return "noise, on its own scale", noise
    if np.abs(noise).max() < FAINTEST:
        return "noise: none", noise + 0.5
    factor = amplification(noise)
    return "noise" if factor == 1 else f"noise, {factor:g} × as strong", 0.5 + factor * noise


def numbers(record: Array) -> Array:
    """Return a record's values, in a range that can be drawn."""
    return np.clip(np.nan_to_num(np.asarray(record, dtype=np.float64)), -HUGE, HUGE)


def is_flat(record: Array) -> bool:
    """Return whether a record is a row of numbers and no picture."""
    return record.ndim < 3 or 1 in record.shape[-2:]


def as_picture(record: Array) -> Array:
    """Return a record (channels, height, width) as pixels in [0, 1], in colour if it has three.

    A fourth channel is left out: as transparency it would hide what was trained on.
    """
    pixels = np.clip(record, 0.0, 1.0)
    if len(pixels) in (3, 4):
        return np.moveaxis(pixels[:3], 0, -1)
    grey: Array = pixels.mean(axis=0)
    return grey


def amplification(noise: Array) -> float:
    """Return how strongly noise may be shown around grey: 1, 2 or 5 times a power of ten."""
    room = 0.5 / float(np.abs(noise).max())
    power = 10.0 ** math.floor(math.log10(room))
    return float(max(step * power for step in (1, 2, 5) if step * power <= room * (1 + 1e-9)))


def _image(axes: Axes, record: Array) -> Axes:
    axes.imshow(as_picture(record), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)
    return axes


def _bars(panels: list[tuple[str, Array]]) -> Figure:
    with blank(0.4 + 1.3 * len(panels)) as figure:
        for i, (title, values) in enumerate(panels):
            axes = figure.add_subplot(len(panels), 1, i + 1)
            shown = values[:LONGEST]
            axes.stairs(shown, np.arange(len(shown) + 1) + 0.5, fill=True, color=MUTED, linewidth=0)
            axes.axhline(0, color=MUTED, linewidth=0.6)
            axes.set_title(title)
            axes.margins(x=0)
            axes.label_outer()
        part = f", first {LONGEST:,} of {len(values):,}" if len(values) > LONGEST else ""
        axes.set_xlabel(f"feature{part}")
        return figure


def draw_kit(canaries: Records, flat: bool) -> Figure:
    """Draw canaries with their labels: pictures or, of flat records, rows of grey values."""
    shown = min(len(canaries), ROWS if flat else ACROSS * DOWN)
    labels = [str(y) for y in canaries.y[:shown]]
    down = -(-shown // ACROSS)
    with blank(1.0 + 0.11 * shown if flat else 0.4 + down * (WIDTH / ACROSS + 0.16)) as figure:
        if flat:
            values = numbers(canaries.x[:shown].reshape(shown, -1))[:, :FEATURES]
            axes = figure.add_subplot()
            axes.imshow(values, cmap="gray", aspect="auto", interpolation="nearest")
            axes.set_yticks(np.arange(shown), labels, fontsize=6)
            axes.set(ylabel="label", xlabel="feature")
            axes.locator_params(axis="x", integer=True)
        else:
            for i, label in enumerate(labels):
                axes = _image(figure.add_subplot(down, ACROSS, i + 1), numbers(canaries.x[i]))
                axes.set_title(label, loc="center", fontsize=8, pad=2)
        part = "all" if shown == len(canaries) else f"the first {shown} of"
        figure.suptitle(f"{part} {len(canaries):,} canaries, with their labels", fontsize=SMALL)
        return figure
