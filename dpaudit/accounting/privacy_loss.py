"""Privacy loss distributions of DP-SGD, rounded towards more leak or towards less.

An upper bound on epsilon needs the first, and is what accountants are for. A lower bound needs
both: a curve is refuted only if one that leaks a little more is, and the epsilon that is then
printed is that of one that leaks a little less.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from dpaudit.types import Adjacency, Array

Side = tuple[Array, Array]
"""A polyline 1 - f: false-positive rates and true-positive rates, both rising."""

FOURIER = 1e-12
"""More than the error of a Fourier transform, in probability."""

EDGES = (0.1, 0.2, 0.35)
"""Ends of the cells of one step, in intervals above their grid points."""

KEPT = 64
"""Curves, of a megabyte or two: those of several attacks on one claim, which share many."""


@lru_cache(maxsize=KEPT)
def sides(q: float, steps: int, s: float, adjacency: Adjacency) -> tuple[Side, Side]:
    """1 - f, rounded up: by the tangents of slope at least 1, and by those of at most 1.

    The curve itself is the lower of both. Each comes from the distribution that is accurate
    there: of in-trials where in is likelier, of out-trials elsewhere.
    """
    interval = _interval(q, steps, s, fine=0.5 * q / s, points=(4_000, 20_000))
    of_inn, of_out = _divergences(q, s, adjacency, interval)
    x, y = seen = _composed_above_zero(*of_inn, interval, steps)
    steep = np.append(x, x[-1] + (1 - y[-1])), np.append(y, 1.0)
    # The same seen from the other world, which is the mirrored one where a record is replaced:
    # what was x is 1 - y.
    replaced = adjacency == "replace"
    y, x = seen if replaced else _composed_above_zero(*of_out, interval, steps)
    x, y = 1 - x[::-1], 1 - y[::-1]
    flat = np.concatenate([[0.0], x, [1.0]]), np.concatenate([[y[0] - x[0]], y, [1.0]])
    return steep, flat


@lru_cache(maxsize=KEPT)
def symmetric(q: float, steps: int, s: float, adjacency: Adjacency) -> tuple[Side, Side]:
    """The same of the least leaking curve that holds whichever world is called in."""
    steep, flat = sides(q, steps, s, adjacency)
    steep = above_both(steep, _mirrored(flat))
    return steep, _mirrored(steep)


def _mirrored(side: Side) -> Side:
    """The same seen from the other world."""
    x, y = side
    return 1 - y[::-1], 1 - x[::-1]


def above_both(one: Side, other: Side) -> Side:
    """The least concave polyline above two, by Andrew's monotone chain."""
    x = np.union1d(one[0], other[0])
    y = np.maximum(np.interp(x, *one), np.interp(x, *other))
    kept: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(kept) > 1 and _below(kept[-1], kept[-2], point):
            kept.pop()
        kept.append(point)
    x, y = np.array(kept).T
    return x, y


def _below(b: tuple[float, float], a: tuple[float, float], c: tuple[float, float]) -> bool:
    """Return whether b lies below the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) < (c[1] - a[1]) * (b[0] - a[0])


@lru_cache(maxsize=KEPT)
def epsilon(q: float, steps: int, s: float, adjacency: Adjacency, delta: float) -> float:
    """The epsilon at `delta`, rounded down: no accountant that is right finds a smaller one.

    What a step loses by rounding, all steps lose. Whatever its cells, the epsilon is rounded
    down, so that those are taken that keep most of a step's mean loss: then it is some 0.1 %
    too small. Where next to no step samples the record, the grid is as coarse as the loss of
    most steps, and what is lost is more: a million steps at a rate of 0.0001 and a noise
    multiplier of 0.5 read 0.8 and leak 3.9.
    """
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    allowed = delta + fourier(steps)
    if allowed >= 1:
        return 0.0
    interval = _interval(q, steps, s, fine=0.02 * q / s, points=(10_000, 200_000))
    if q < 1:
        # Most steps do not sample the record and lose ln(1-q): that is to be on the grid.
        interval = -math.log1p(-q) / math.ceil(-math.log1p(-q) / interval)
    tried = (rounded_down(*_cells(q, s, adjacency, interval, edge), interval) for edge in EDGES)
    lowest, probabilities = max(tried, key=_mean)
    once = DensePLDPmf(interval, lowest, probabilities, 0.0, pessimistic_estimate=False)
    return max(0.0, float(once.self_compose(steps).get_epsilon_for_delta(allowed)))


def fourier(steps: int) -> float:
    """More than the error of a composition, in probability.

    It is the power of a transform, so that its error grows with the steps: 5e-12 was seen in
    10^5 of them, 1e-11 in 10^6.
    """
    return max(FOURIER, 1e-15 * steps)


def _interval(q: float, steps: int, s: float, fine: float, points: tuple[int, int]) -> float:
    """Return the interval of the grid of losses: `fine` if that takes a number of points in range.

    Both roundings are bounds on any grid. A finer one makes them closer, and slower.
    """
    # Of one step, but for a probability of e^-50; and all steps' by the central limit theorem.
    largest = float(_density(np.array(1 + 10 * s), q, s, 1.0))
    spread = math.sqrt(steps) * q / s
    return max(min(fine, largest / points[0]), max(largest, spread) / points[1])


# ---------------------------------------------------------------- more leak


def rounded_up(deltas: Array, interval: float) -> tuple[Array, float]:
    """A loss distribution on a grid whose divergences are these there, and larger in between.

    "Connect the dots" of Doroshenko et al. 2022, which dp-accounting does point by point. The
    probability of each point, and that of an infinite loss.
    """
    deltas = np.minimum.accumulate(deltas)
    falls = -np.diff(deltas, prepend=1.0, append=deltas[-1])
    up, down = falls[:-1] / -math.expm1(-interval), falls[1:] / math.expm1(interval)
    # Below the grid nothing is known but that all of it is left: it is put on the lowest point.
    up[0] = falls[0]
    return np.maximum(up - down, 0.0), float(deltas[-1])


def _divergences(
    q: float, s: float, adjacency: Adjacency, interval: float
) -> tuple[tuple[int, Array], tuple[int, Array]]:
    """H_e(in || out) and H_e(out || in) of one step, each from its lowest grid point on.

    A set of releases above a point is likeliest in where its loss is e, one below it out.
    """
    other = -1.0 if adjacency == "replace" else 0.0
    ends = np.array([other - 10 * s, 1 + 10 * s])
    least, most = (_density(ends, q, s, 1.0) - _density(ends, q, s, other)) / interval
    points = np.arange(math.floor(least), math.ceil(most) + 1)
    losses = points * interval
    x = _where(losses, q, s, adjacency)
    above = _above(x, q, s, 1.0) - np.exp(losses) * _above(x, q, s, other)
    below = _above(-x, q, s, -other) - np.exp(-losses) * _above(-x, q, s, -1.0)
    return (
        (int(points[0]), np.clip(above, 0.0, 1.0)),
        (-int(points[-1]), np.clip(below[::-1], 0.0, 1.0)),
    )


def _where(losses: Array, q: float, s: float, adjacency: Adjacency) -> Array:
    """The releases of these losses; minus infinity where all losses are larger."""
    if adjacency == "add-remove":
        missed = -(1 - q) * np.exp(-losses)
        x = losses + np.log1p(missed, out=np.full(len(losses), -np.inf), where=missed > -1)
        return np.asarray(s**2 * (x - math.log(q)) + 0.5)
    # With z = e^(x/s^2) and c = q e^(-1/(2s^2)), c z^2 - (1-q)(e^loss - 1) z - c e^loss = 0; and
    # the loss of -x is that of x with its sign changed.
    size, c = np.abs(losses), q * math.exp(-1 / (2 * s**2))
    b = (1 - q) * np.expm1(size)
    z = (b + np.sqrt(b**2 + 4 * c**2 * np.exp(size))) / (2 * c)
    return np.asarray(np.copysign(s**2 * np.log(z), losses))


def _composed_above_zero(lowest: int, deltas: Array, interval: float, steps: int) -> Side:
    """Mass of both worlds above each positive loss of all steps, from the largest loss down."""
    from dp_accounting.pld.pld_pmf import DensePLDPmf

    probabilities, infinite = rounded_up(deltas, interval)
    once = DensePLDPmf(interval, lowest, probabilities, infinite, pessimistic_estimate=True)
    dense = once.self_compose(steps)
    losses = (np.arange(dense.size) + dense._lower_loss) * dense._discretization
    keep = losses > 0
    # A Fourier transform leaves probabilities a little below 0.
    upper = np.maximum(dense._probs[keep], 0.0)[::-1]
    lower = upper * np.exp(-losses[keep][::-1])
    x = np.concatenate([[0.0], np.cumsum(lower)])
    # Once for the mass itself, and once for that of the other world, which a loss multiplies.
    y = dense._infinity_mass + 2 * fourier(steps) + np.concatenate([[0.0], np.cumsum(upper)])
    return x, np.minimum(y, 1.0)


# ---------------------------------------------------------------- less leak


def rounded_down(inn: Array, out: Array, interval: float) -> tuple[int, Array]:
    """A loss distribution on a grid that every pair of distributions with such cells exceeds.

    Seeing only in which cell a release falls, or moving a part of a cell into the next lower
    one, is post-processing, and lowering a cell's loss lowers every hockey-stick divergence. A
    cell whose loss ln(in/out) is above its grid point is lowered; one below it is given as much
    of the next higher cell as lifts it there, so that no loss is lowered by a whole interval.
    The lowest grid point, and the probability of each under 'in'.
    """
    usable = (inn > 0) & (out > 0)
    nearest = np.rint(np.log(inn[usable] / out[usable]) / interval).astype(int)
    lowest = int(nearest.min()) - 1
    inn = np.bincount(nearest - lowest, inn[usable])
    out = np.bincount(nearest - lowest, out[usable])
    ratio = np.exp((np.arange(len(inn)) + lowest) * interval)
    # A little more than it takes, because a cell that falls short moves down as a whole.
    lifts = np.maximum(out * ratio - inn, 0.0) * (1 + 1e-9) / -math.expm1(-interval)
    kept = np.zeros(len(inn))
    moved_in = moved_out = 0.0
    # From the top down; the lowest grid point is below every cell and takes what is left.
    rows = zip(
        *(a[:0:-1].tolist() for a in (np.arange(len(inn)), inn, out, ratio)),
        lifts[-2::-1].tolist(),
        strict=True,
    )
    for j, here_in, here_out, needed, lift in rows:
        here_in, here_out = here_in + moved_in, here_out + moved_out
        if here_in < here_out * needed:
            moved_in, moved_out = here_in, here_out
        else:
            moved_in = min(here_in, lift)
            moved_out = moved_in / needed
            kept[j] = here_in - moved_in
    kept[0] = moved_in
    return lowest, kept


def _mean(rounded: tuple[int, Array]) -> float:
    """The mean loss, in intervals, of a distribution on the grid."""
    lowest, probabilities = rounded
    return float(probabilities @ (np.arange(len(probabilities)) + lowest))


def _cells(q: float, s: float, adjacency: Adjacency, interval: float, edge: float) -> Side:
    """Probabilities, in and out, of cells of one step's release, one to a grid point of loss.

    A cell ends `edge` intervals above its point. Below a half it is rather lifted than lowered,
    which costs less, as long as the next one has enough to lift it.
    """
    other = -1.0 if adjacency == "replace" else 0.0
    x = np.linspace(other - 10 * s, 1 + 10 * s, 200_001)
    loss = _density(x, q, s, 1.0) - _density(x, q, s, other)
    between = np.arange(math.floor(loss[0] / interval), math.ceil(loss[-1] / interval)) + edge
    between = between[(between * interval > loss[0]) & (between * interval < loss[-1])]
    edges = np.concatenate([[-np.inf], np.interp(between * interval, loss, x), [np.inf]])
    return _probability(edges, q, s, 1.0), _probability(edges, q, s, other)


def _density(x: Array, q: float, s: float, shift: float) -> Array:
    """ln of (1-q) N(0, s^2) + q N(shift, s^2), as a multiple of N(0, s^2)."""
    missed = math.log1p(-q) if q < 1 else -math.inf
    return np.asarray(np.logaddexp(missed, math.log(q) + shift * (2 * x - shift) / (2 * s**2)))


def _probability(edges: Array, q: float, s: float, shift: float) -> Array:
    """Return the probabilities of the cells, from the end that keeps the digits of a tail."""
    downwards, upwards = -np.diff(_above(edges, q, s, shift)), np.diff(_above(-edges, q, s, -shift))
    return np.where(edges[1:] <= 0, upwards, downwards)


def _above(x: Array, q: float, s: float, shift: float) -> Array:
    """The probability of a release above x, under (1-q) N(0, s^2) + q N(shift, s^2)."""
    return np.asarray((1 - q) * ndtr(-x / s) + q * ndtr((shift - x) / s))
