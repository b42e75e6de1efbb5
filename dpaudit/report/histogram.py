"""Histograms of scores in both worlds: the same bins, with an edge at the rule's cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.report.judged import NO_NUMBER
from dpaudit.results import Scores
from dpaudit.types import Array

HUGE = 1e100
"""What is larger has no place on an axis: it is shown as infinite."""


@dataclass(frozen=True)
class End:
    """The bin for all that lies beyond one end of the axis, as shares of each world."""

    out: float
    inn: float
    label: str


@dataclass(frozen=True)
class Histogram:
    """Shares of each world per bin (a, b], as a rule 'score > cut' sees them."""

    edges: Array
    out: Array
    inn: Array
    below: End | None
    above: End | None


def histogram(scores: Scores, cut: float | None) -> Histogram:
    """Both worlds in common bins; what is infinite or far away goes into marked end bins."""
    everything = np.concatenate([scores.out, scores.inn])
    edges = _edges(everything, cut, bins=_bins(min(scores.out.size, scores.inn.size)))
    counts = [_shares(world, edges) for world in (scores.out, scores.inn)]
    (below_out, out, above_out), (below_in, inn, above_in) = counts
    low, high = everything <= edges[0], everything > edges[-1]
    return Histogram(
        edges,
        out,
        inn,
        End(below_out, below_in, _label(everything[low], "<", edges[0])) if low.any() else None,
        End(above_out, above_in, _label(everything[high], ">", edges[-1])) if high.any() else None,
    )


def _bins(n: int) -> int:
    return int(np.clip(np.ceil(2 * n ** (1 / 3)), 4, 40))


def _edges(x: Array, cut: float | None, bins: int) -> Array:
    """Edges around all ordinary values, one of them at the cut where that is near."""
    x = x[np.abs(x) < HUGE]
    low, high = _ordinary(x) if x.size else (0.0, 0.0)
    anchor = low
    if cut is not None and 2 * low - high <= cut <= 2 * high - low:
        anchor, low, high = cut, min(low, cut), max(high, cut)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # all equal: one bin in the middle
        half = 0.05 * abs(low) or 0.5
        return low + half * np.array([-3.0, -1.0, 1.0, 3.0])
    width = (high - low) / bins
    first, last = math.ceil((low - anchor) / width) - 1, math.ceil((high - anchor) / width)
    edges = anchor + width * np.arange(first, last + 1)
    # Bins are (a, b]: the lowest value lies above the first edge, whatever was rounded.
    edges[0], edges[-1] = min(edges[0], low - width / 10), max(edges[-1], high)
    return edges


def _ordinary(x: Array) -> tuple[float, float]:
    """The range of the values but for those that are so far away that they would flatten it."""
    a, b = np.quantile(x, [0.1, 0.9])
    reach = 3 * (b - a) or math.inf
    near = x[(x >= a - reach) & (x <= b + reach)]
    return float(near.min()), float(near.max())


def _shares(x: Array, edges: Array) -> tuple[float, Array, float]:
    place = np.searchsorted(edges, x, side="left")
    counts = np.bincount(place, minlength=len(edges) + 1) / len(x)
    return float(counts[0]), counts[1:-1], float(counts[-1])


def _label(x: Array, side: str, edge: float) -> str:
    """What is in an end bin."""
    kinds = [
        ("no number", x == NO_NUMBER),
        ("−∞" if side == "<" else "∞", (np.abs(x) >= HUGE) & (x != NO_NUMBER)),
        (f"{side} {edge:.3g}", np.abs(x) < HUGE),
    ]
    return "\n".join(name for name, found in kinds if found.any())
