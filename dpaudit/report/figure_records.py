"""Figures of records: the canary beside its original, and the canaries of a kit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.report.drawing import MUTED, SMALL, WIDTH, blank, style
from dpaudit.report.figure_scores import HUGE
from dpaudit.types import Array, Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAINTEST = 1e-9
"""Noise below this is none."""
LONGEST = 2_000
"""Features that are told apart in bars; of a longer record the first ones are shown."""

ACROSS, DOWN = 10, 6
"""Pictures in a row, and rows of them."""

ROWS, FEATURES = 60, 400
"""Of flat records: how many are shown, and how much of each."""


def draw(canary: Array, original: Array | None, label: str, replaced: bool = False) -> Figure:
    """Original, noise and result as pictures; flat records as bars.

    Where it `replaced` the original, there is no noise between them: D has the one, D' the other.
    """
    canary = numbers(canary)
    original = None if original is None else numbers(original)
    flat = is_flat(canary)
    panels = [(f"result{label}", canary)]
    if original is not None and replaced:
        panels = [("in D", original), (f"in D'{label}", canary)]
    elif original is not None:
        panels[:0] = [("original record", original), _noise(canary - original, flat)]
    with style():
        if flat:
            return _bars([(title, record.ravel()) for title, record in panels])
        return _images([(title, as_picture(record)) for title, record in panels])


def _noise(noise: Array, flat: bool) -> tuple[str, Array]:
    """What was added, as it is shown: bars have a scale of their own, pixels have not."""
    if flat:
        return "noise, on its own scale", noise
    if np.abs(noise).max() < FAINTEST:
        return "noise: none", noise + 0.5
    factor = amplification(noise)
    return "noise" if factor == 1 else f"noise, {factor:g} × as strong", 0.5 + factor * noise


def is_flat(record: Array) -> bool:
    """Whether a record is a row of numbers and no picture."""
    return record.ndim < 3 or 1 in record.shape[-2:]


def as_picture(record: Array) -> Array:
    """A record (channels, height, width) as pixels in [0, 1]: colours if it has three or four.

    A fourth channel is left out: as transparency it would hide what was trained on.
    """
    pixels = np.clip(record, 0.0, 1.0)
    if len(pixels) in (3, 4):
        return np.moveaxis(pixels[:3], 0, -1)
    grey: Array = pixels.mean(axis=0)
    return grey


def amplification(noise: Array) -> float:
    """How strongly noise may be shown around grey: 1, 2 or 5 times a power of ten."""
    room = 0.5 / float(np.abs(noise).max())
    power = 10.0 ** math.floor(math.log10(room))
    return float(max(step * power for step in (1, 2, 5) if step * power <= room * (1 + 1e-9)))


def _images(panels: list[tuple[str, Array]]) -> Figure:
    figure = blank(2.1 if len(panels) > 1 else 2.8)
    for i, (title, picture) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), i + 1)
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title, loc="center")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)
    return figure


def _bars(panels: list[tuple[str, Array]]) -> Figure:
    figure = blank(0.4 + 1.3 * len(panels))
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


def numbers(record: Array) -> Array:
    """A record's values, in a range that can be drawn."""
    return np.clip(np.nan_to_num(np.asarray(record, dtype=np.float64)), -HUGE, HUGE)


# ---------------------------------------------------------------- a kit


def draw_kit(canaries: Records, flat: bool) -> Figure:
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
