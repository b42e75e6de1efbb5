"""The published estimate: thresholds tuned on the very models that they are scored on.

Kept for comparison and never called a bound. Its permutation null, the same search on
shuffled worlds, shows how much of it selection alone would give.
"""

from __future__ import annotations

import math

import numpy as np

from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack
from dpaudit.rates import PointCriterion
from dpaudit.results import Counts, Published
from dpaudit.seeds import generator
from dpaudit.types import IN, OUT

CHUNK = 100
"""Models per estimate, as in the paper: half of them in each world."""

PERMUTATIONS = 200
"""Permutations per attack, divided among the chunks."""


def published_estimate(
    name: str, attack: Attack, trials: Trials, delta: float, seed: int
) -> Published:
    """Return mean and deviation of the in-sample estimate over chunks, beside its null."""
    chunks = _chunks(trials)
    draw = generator(seed, "permutations", name)
    estimates, null = [], []
    for number, chunk in enumerate(chunks):
        estimates.append(in_sample(attack, chunk, delta))
        share = range(number, PERMUTATIONS, len(chunks))
        null += [in_sample(attack, chunk.shuffled(draw), delta) for _ in share]
    finite = np.isfinite(estimates).all()
    spread = float(np.std(estimates, ddof=1)) if finite and len(chunks) > 1 else math.inf
    return Published(
        attack=name,
        epsilon_in_sample=float(np.mean(estimates)),
        epsilon_in_sample_std=spread if len(chunks) > 1 else 0.0,
        chunks=len(chunks),
        null_mean=float(np.mean(null)),
        null_q95=_q95(null),
        permutations=len(null),
    )


def _q95(null: list[float]) -> float:
    # Between an infinite value and another one there is nothing to interpolate.
    method = "linear" if np.isfinite(null).all() else "higher"
    return float(np.quantile(null, 0.95, method=method))  # type: ignore[call-overload]


def in_sample(attack: Attack, trials: Trials, delta: float) -> float:
    """Return the point estimate of the rule that makes it largest on these same trials."""
    return point(trials.count(trials.fit(attack, PointCriterion(delta))), delta)


def point(c: Counts, delta: float) -> float:
    """Return the epsilon at which the observed error rates would be the worst allowed.

    max{0, ln((1-d-FPR)/FNR), ln((1-d-FNR)/FPR)}; a direction whose denominator is 0 is
    skipped. Without any error both are, and the estimate is infinite, as published. It says
    nothing about how far the true rates may be from the observed ones, so it is no bound and
    decides nothing. Kairouz, Oh and Viswanath 2015.
    """
    if c.fp == c.fn == 0:
        return math.inf
    value = PointCriterion(delta)(np.array(c.fp), c.out, np.array(c.fn), c.inn)
    return max(0.0, float(value))


def _chunks(trials: Trials) -> list[Trials]:
    """Return every whole, balanced chunk of 100 models, or all models if there are fewer."""
    out, inn = (np.flatnonzero(trials.worlds == world) for world in (OUT, IN))
    half = CHUNK // 2
    whole = min(len(out), len(inn)) // half
    if whole == 0:
        return [trials]
    parts = [slice(i * half, (i + 1) * half) for i in range(whole)]
    return [trials[np.concatenate([out[part], inn[part]])] for part in parts]
