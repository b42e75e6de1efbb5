"""Figure of scores: histograms of both worlds, for each attack or for the canaries of one run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpaudit.report.drawing import IN, INK, MUTED, OUT, SMALL, blank, upright
from dpaudit.report.formats import shorten
from dpaudit.report.wording import PLANTED, Worlds
from dpaudit.results import Bound, Guesses, Report, Scores
from dpaudit.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NO_NUMBER = float(np.finfo(np.float64).min)
"""Stands for a score that is not a number: it ranks below all others."""
HUGE = 1e100
"""Larger values have no place on an axis: they are shown as infinite."""

COLUMNS = 3
LINES: dict[str, Any] = {OUT: "-", IN: (0, (4, 1.2))}


@dataclass(frozen=True)
class AttackScores:
    """One attack's scores, the cut above which its rule says D', and its bound."""

    attack: str
    scores: Scores
    cut: float | None
    bound: Bound


def attack_scores(report: Report) -> list[AttackScores]:
    """Return the deciding attack, then the others in their order; each attack once."""
    if report.evidence is None:
        return []
    of = list(zip(report.bounds, report.evidence.scores, report.evidence.cuts, strict=True))
    order = [report.primary, *(i for i in range(len(of)) if i != report.primary)]
    found: dict[str, AttackScores] = {}
    for bound, scores, cut in (of[i] for i in order):
        clean = Scores(_numbers(scores.out), _numbers(scores.inn))
        if clean.out.size and clean.inn.size:
            found.setdefault(bound.attack, AttackScores(bound.attack, clean, cut, bound))
    return list(found.values())


def _numbers(scores: Array) -> Array:
    x = np.asarray(scores, dtype=np.float64).ravel()
    return np.where(np.isnan(x), NO_NUMBER, x)


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
    """Count both worlds in common bins; infinite and far values go into marked end bins."""
    everything = np.concatenate([scores.out, scores.inn])
    bins = np.clip(np.ceil(2 * min(scores.out.size, scores.inn.size) ** (1 / 3)), 4, 40)
    edges = _edges(everything, cut, int(bins))
    out, inn = _shares(scores.out, edges), _shares(scores.inn, edges)

    def end(beyond: Array, i: int, side: str) -> End | None:
        label = _label(everything[beyond], side, edges[i])
        return End(float(out[i]), float(inn[i]), label) if beyond.any() else None

    below, above = end(everything <= edges[0], 0, "<"), end(everything > edges[-1], -1, ">")
    return Histogram(edges, out[1:-1], inn[1:-1], below, above)


def _edges(x: Array, cut: float | None, bins: int) -> Array:
    """Return edges around all ordinary values, one of them at the cut if that is near."""
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
    """Return the range of the values without those so far away that they would flatten it."""
    a, b = np.quantile(x, [0.1, 0.9])
    reach = 3 * (b - a) or math.inf
    near = x[(x >= a - reach) & (x <= b + reach)]
    return float(near.min()), float(near.max())


def _shares(x: Array, edges: Array) -> Array:
    """Return the shares of values below the edges, in each bin, and above the edges."""
    place = np.searchsorted(edges, x, side="left")
    shares: Array = np.bincount(place, minlength=len(edges) + 1) / len(x)
    return shares


def _label(x: Array, side: str, edge: float) -> str:
    """Return the label of an end bin."""
    kinds = [
        ("no number", x == NO_NUMBER),
        ("−∞" if side == "<" else "∞", (np.abs(x) >= HUGE) & (x != NO_NUMBER)),
        (f"{side} {edge:.3g}", np.abs(x) < HUGE),
    ]
    return "\n".join(name for name, found in kinds if found.any())


def draw(attacks: list[AttackScores], units: str = "models", worlds: Worlds = PLANTED) -> Figure:
    """Draw the deciding attack large, the others small below it."""
    first, *others = attacks
    lines = -(-len(others) // COLUMNS)
    with blank(2.9 + 1.75 * lines) as figure:
        grid = figure.add_gridspec(1 + lines, COLUMNS, height_ratios=[1.5] + [1] * lines)
        large = figure.add_subplot(grid[0, :])
        names = worlds.out, worlds.inn
        panel(large, first, ticks=7, ends=0.07, names=names)
        large.set_title(f"{shorten(first.attack, 50)} (decides)")
        large.set_ylabel(f"share of {units}")
        note = f"\n{off}" if (off := off_scale(first)) else ""
        large.set_xlabel(f"score: the further right, the more like {units} {worlds.inn}{note}")
        for i, attack in enumerate(others):
            small = figure.add_subplot(grid[1 + i // COLUMNS, i % COLUMNS])
            panel(small, attack, ticks=3, ends=0.12, names=names)
            small.set_title(shorten(attack.attack, 20), fontsize=SMALL)
            small.set_xlabel(off_scale(attack), fontsize=8)
            small.tick_params(labelsize=8)
        figure.legend(*large.get_legend_handles_labels(), loc="outside upper left", ncols=3)
        return figure


def panel(
    axes: Axes, attack: AttackScores, ticks: int, ends: float, names: tuple[str, str]
) -> None:
    """Draw one attack's scores in the two worlds; `names` are theirs."""
    made = histogram(attack.scores, attack.cut)
    edges, positions = made.edges, []
    _bars(axes, made.out, edges, OUT, names[0])
    _bars(axes, made.inn, edges, IN, names[1])
    step = (edges[-1] - edges[0]) * ends
    for end, edge, way in ((made.below, edges[0], -1), (made.above, edges[-1], 1)):
        if end is not None:
            axes.axvline(edge + way * step / 2, color=MUTED, linewidth=0.8, linestyle=":")
            centre = edge + way * step * 1.2
            _bars(axes, [end.out], [centre - step / 2, centre], OUT)
            _bars(axes, [end.inn], [centre, centre + step / 2], IN)
            # In a line of its own, where it cannot run into a number.
            positions.append((centre, f"\n{end.label}"))
    if attack.cut is not None and not off_scale(attack):
        axes.axvline(attack.cut, color=INK, linewidth=1.4, label="the rule's cut")
    axes.margins(x=0.01)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:.0%}")
    _ticks(axes, made.edges, positions, ticks)


def _bars(axes: Axes, shares: Any, edges: Any, color: str, name: str | None = None) -> None:
    axes.stairs(shares, edges, fill=True, color=color, alpha=0.35, linewidth=0, label=name)
    axes.stairs(shares, edges, color=color, linewidth=1.4, linestyle=LINES[color])


def off_scale(attack: AttackScores) -> str:
    """Say why no line shows the cut: at the axis' end it would seem to part what lies beyond."""
    if attack.cut is None:
        return ""
    if math.isinf(attack.cut):
        return "the rule never says 'with'" if attack.cut > 0 else "the rule always says 'with'"
    edges = histogram(attack.scores, attack.cut).edges
    return "" if edges[0] <= attack.cut <= edges[-1] else f"the cut, {attack.cut:.3g}, is far off"


def _ticks(axes: Axes, edges: Array, ends: list[tuple[float, str]], count: int) -> None:
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    steps = [1, 2, 2.5, 5, 10]
    axes.yaxis.set_major_locator(MaxNLocator(4, steps=steps))
    places = MaxNLocator(count, steps=steps).tick_values(edges[0], edges[-1])
    places = [x for x in places if edges[0] <= x <= edges[-1]]
    formatter = ScalarFormatter(useOffset=False)
    formatter.set_axis(axes.xaxis)
    formatter.set_scientific(False)
    labels = formatter.format_ticks(places)
    axes.set_xticks([*places, *(x for x, _ in ends)], [*labels, *(name for _, name in ends)])


def ends(attack: AttackScores, guesses: Guesses) -> tuple[float, float]:
    """Return the highest score that is called out, if any is, and the lowest called in."""
    ranked = np.sort(np.concatenate([attack.scores.out, attack.scores.inn]))
    called_out = guesses.guesses // 2
    called_in = guesses.guesses - called_out
    return float(ranked[called_out - 1]) if called_out else -math.inf, float(ranked[-called_in])


def draw_guesses(attack: AttackScores, guesses: Guesses) -> Figure:
    """Draw both kinds of canaries in one panel, with lines where the guesses end."""
    low, high = ends(attack, guesses)
    with blank(3.1) as figure:
        axes = figure.add_subplot()
        panel(axes, attack, ticks=7, ends=0.07, names=("left out", "put in"))
        # Scores are finite or stand for none; a line for these would be beyond the axis.
        left, right = axes.get_xlim()
        for place, text, side in ((low, "called out ", "right"), (high, " called in", "left")):
            if left < place < right:
                upright(axes, place, text, INK, 1.2, side)
        axes.set_ylabel("share of canaries")
        name = shorten(attack.attack, 40)
        axes.set_xlabel(f"score by {name}: the further right, the more like in")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2)
        return figure
