"""Figure of error rates: each cut of each attack against what the claim allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dpaudit.accounting.curves import PureFamily, family, parameter_of, within_reach
from dpaudit.rates import upper_rate
from dpaudit.report.drawing import CLAIM, INK, MUTED, blank
from dpaudit.report.figure_scores import AttackScores
from dpaudit.report.formats import percent, shorten
from dpaudit.report.wording import PLANTED, Worlds
from dpaudit.results import Bound, Scores
from dpaudit.types import Array, Claim

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FINEST = 1e-6
"""The smallest rate that gets a place on an axis."""
WIDE = 1.5
"""Up to this epsilon the forbidden corners have room for a label."""
HUGE = 700.0
"""At a larger epsilon e^epsilon overflows."""

View: TypeAlias = Callable[[Array], Array]
"""From true-positive rates to heights in a panel."""


def most(fpr: Array, claim: Claim) -> Array:
    """Return the largest true-positive rate that the claim allows at each false-positive rate."""
    if math.isinf(claim.epsilon):
        return np.ones_like(fpr)
    allowed: Array = 1 - PureFamily(claim.delta).trade_off(min(claim.epsilon, HUGE), fpr)
    return allowed


def least(fpr: Array, claim: Claim) -> Array:
    """Return the smallest true-positive rate: the inverted attack is limited as well."""
    lowest: Array = 1 - most(1 - np.asarray(fpr, dtype=float), claim)
    return lowest


def most_by_curve(fpr: Array, claim: Claim) -> Array | None:
    """Return the largest true-positive rate under the claim's curve, or None without a curve.

    It is never more than epsilon and delta allow, except for single steps: the claim is about
    all steps together.
    """
    if claim.curve is None or not within_reach(claim.curve):
        return None
    known = family(claim.curve, claim.delta, claim.adjacency)
    curve: Array = 1 - known.trade_off(parameter_of(claim.curve, claim.adjacency), fpr)
    return curve


def roc(scores: Scores) -> tuple[Array, Array]:
    """Return the false- and true-positive rates of 'score > t' for every t, from (0, 0) on."""
    cuts = np.unique(np.concatenate([scores.out, scores.inn]))[::-1]
    fpr = 1 - np.searchsorted(np.sort(scores.out), cuts, side="left") / scores.out.size
    tpr = 1 - np.searchsorted(np.sort(scores.inn), cuts, side="left") / scores.inn.size
    return np.concatenate([[0.0], fpr]), np.concatenate([[0.0], tpr])


def corner(bound: Bound) -> tuple[float, float] | None:
    """Return the most FPR and the least TPR of a rule, with the bound's confidence.

    They are the corner of the Clopper-Pearson rectangle from which the bound is computed.
    """
    c = bound.counts
    if c is None:
        return None
    a = (1 - bound.confidence) / 2
    return float(upper_rate(c.fp, c.out, a)), 1 - float(upper_rate(c.fn, c.inn, a))


def draw(attacks: list[AttackScores], claim: Claim, worlds: Worlds = PLANTED) -> Figure:
    """Draw all rates on the left; on the right both kinds of error, enlarged where they are rare.

    At a claim of epsilon 8 the left region is nearly everything; the right one shows how far the
    curves are from its border.
    """
    with blank(3.5) as figure:
        left, right = figure.subplots(1, 2)
        _panel(left, attacks, claim, _with_kinks(np.linspace(0, 1, 101), claim), lambda tpr: tpr)
        _percents(left)
        if claim.epsilon <= WIDE and not claim.by_step:
            _forbidden(left, 0.97, 0.04, "right")
        floor = lowest(attacks, claim)
        rare = _with_kinks(np.geomspace(floor, 1, 301), claim)
        _panel(right, attacks, claim, rare, lambda tpr: 1 - tpr)
        _logarithms(right, floor)
        if floor < math.exp(-claim.epsilon) and not claim.by_step:
            _forbidden(right, 0.03, 0.04, "left")
        of = "steps " if claim.by_step else ""
        titles = ((left, "all rates", "found"), (right, "rare errors, enlarged", "missed"))
        for axes, title, counted in titles:
            axes.set(box_aspect=1, title=title, ylabel=f"{of}{worlds.inn}, {counted}")
            axes.set_xlabel(f"{of}{worlds.out}, accused\n(false positives)")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=2)
        return figure


def lowest(attacks: list[AttackScores], claim: Claim) -> float:
    """Return the end of the axes of rare errors, below what can be counted."""
    n = max(max(a.scores.out.size, a.scores.inn.size) for a in attacks)
    border = 0.0 if claim.by_step else 0.03 * math.exp(-claim.epsilon)
    return float(min(0.4 / n, border)) if border >= FINEST else max(FINEST, 0.4 / n)


def _panel(axes: Axes, attacks: list[AttackScores], claim: Claim, fpr: Array, up: View) -> None:
    for i, attack in enumerate(attacks):
        x, tpr = _smooth(*roc(attack.scores))
        name = shorten(attack.attack, 28) if i == 0 else "other attacks" if i == 1 else None
        look = (INK, 2.0, 3) if i == 0 else (MUTED, 0.7, 2)
        axes.plot(x, up(tpr), label=name, color=look[0], linewidth=look[1], zorder=look[2])
    _rule(axes, attacks[0], up)
    if not claim.by_step:
        _region(axes, claim, fpr, up)
    if (curve := most_by_curve(fpr, claim)) is not None:
        name = f"the most {'of a step ' if claim.by_step else ''}by the claim's curve"
        axes.plot(fpr, up(curve), color=CLAIM, linewidth=1.3, linestyle="-.", label=name)
    axes.plot(fpr, up(fpr), color=MUTED, linewidth=1, linestyle=":", label="guessing")


def _region(axes: Axes, claim: Claim, fpr: Array, up: View) -> None:
    """Draw the region that epsilon and delta allow."""
    # The border at the smallest rate goes on to 0: a logarithmic axis has no place between.
    x = np.append(0.0, fpr)
    low, high = (up(np.append(y[0], y)) for y in (least(fpr, claim), most(fpr, claim)))
    label = "allowed by the claim"
    axes.fill_between(x, low, high, color=CLAIM, alpha=0.16, linewidth=0, label=label)
    axes.plot(x, low, x, high, color=CLAIM, linewidth=1)


def _with_kinks(fpr: Array, claim: Claim) -> Array:
    """Add the corners of the region to a grid."""
    corner = (1 - claim.delta) / (1 + math.exp(min(claim.epsilon, HUGE)))
    kinks = np.array([corner, 1 - corner, claim.delta, 1 - claim.delta])
    grid: Array = np.union1d(fpr, kinks[kinks >= fpr[0]])
    return grid


def _smooth(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the line with more points: on a logarithmic axis it is no longer straight."""
    steps = len(x) - 1
    place = np.arange(steps + 1)
    fine = np.linspace(0, steps, steps * max(1, 400 // steps) + 1)
    return np.interp(fine, place, x), np.interp(fine, place, y)


def _forbidden(axes: Axes, x: float, y: float, side: str) -> None:
    text = "forbidden\nby the claim"
    axes.text(x, y, text, color=CLAIM, fontsize=8, ha=side, va="bottom", transform=axes.transAxes)


def _rule(axes: Axes, deciding: AttackScores, up: View) -> None:
    """Draw the rule that decides, and the rectangle that its true rates are in."""
    counts, limits = deciding.bound.counts, corner(deciding.bound)
    if counts is None or limits is None:
        return
    fpr, tpr = limits
    x, y = np.array([0.0, fpr, fpr]), up(np.array([tpr, tpr, 1.0]))
    sure = percent(deciding.bound.confidence)
    axes.plot(x, y, color=INK, linewidth=1.3, linestyle="--", label=f"its true rates, {sure} sure")
    point = up(np.array([1 - counts.fn / counts.inn]))
    axes.plot([counts.fp / counts.out], point, "o", color=INK, ls="", label="the rule that decides")


def _percents(axes: Axes) -> None:
    """Make axes of shares."""
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:.0%}")
        axis.set_ticks([0, 0.25, 0.5, 0.75, 1])


def _logarithms(axes: Axes, floor: float) -> None:
    """Make the axes logarithmic, with a place for 0 below `floor`."""
    span = -math.log10(floor)
    decades = [10.0**-k for k in range(0, int(span - 0.5) + 1, 1 if span < 3 else 2)]
    axes.set(xlim=(0, 1), ylim=(0, 1))
    for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
        scale("symlog", linthresh=floor, linscale=max(0.3, 0.1 * span))
        axis.set_ticks([0, *decades], ["0", *(percent(x).replace(" ", "") for x in decades)])
    axes.minorticks_off()
