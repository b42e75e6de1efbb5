"""The point estimate: a description, not a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack
from dpaudit.rates import PointCriterion
from dpaudit.results import Counts, Published
from dpaudit.seeds import generator
from dpaudit.types import IN, OUT


@dataclass(frozen=True)
class Point:
    """The epsilon at which the observed error rates would be the worst allowed.

    max{0, ln((1-d-FPR)/FNR), ln((1-d-FNR)/FPR)}; a direction whose denominator is 0 is
    skipped. It says nothing about how far the true rates may be from the observed ones, so it
    has no `bound` and decides nothing. Kairouz, Oh and Viswanath 2015.
    """

    def epsilon(self, counts: Counts, delta: float) -> float:
        """The estimate."""
        c = counts
        value = PointCriterion(delta)(np.array(c.fp), c.out, np.array(c.fn), c.inn)
        return max(0.0, float(value))


# ----------------------------------------------------------------
# The published estimate: thresholds tuned on the very models that they are scored on.
#
# Kept for comparison and never called a bound. Its permutation null, the same search on
# shuffled worlds, shows how much of it selection alone would give.


CHUNK = 100
"""Models per estimate, as in the paper: half of them in each world."""

PERMUTATIONS = 200
"""In all per attack, shared out over the chunks."""


def published(name: str, attack: Attack, trials: Trials, delta: float, seed: int) -> Published:
    """Mean and deviation over chunks of the in-sample estimate, beside one chunk's null."""
    chunks = _chunks(trials)
    draw = generator(seed, "permutations", name)
    estimates, null = [], []
    for number, chunk in enumerate(chunks):
        estimates.append(in_sample(attack, chunk, delta))
        share = range(number, PERMUTATIONS, len(chunks))
        null += [in_sample(attack, chunk.shuffled(draw), delta) for _ in share]
    return Published(
        attack=name,
        epsilon_in_sample=float(np.mean(estimates)),
        epsilon_in_sample_std=_spread(estimates) if len(chunks) > 1 else 0.0,
        chunks=len(chunks),
        null_mean=float(np.mean(null)),
        null_q95=_q95(null),
        permutations=len(null),
    )


def _spread(estimates: list[float]) -> float:
    return float(np.std(estimates, ddof=1)) if np.isfinite(estimates).all() else math.inf


def _q95(null: list[float]) -> float:
    if np.isfinite(null).all():
        return float(np.quantile(null, 0.95))
    # Between an infinite value and another one there is nothing to interpolate.
    return float(np.quantile(null, 0.95, method="higher"))


def in_sample(attack: Attack, trials: Trials, delta: float) -> float:
    """The point estimate of the rule that makes it largest on these same trials."""
    return estimate(trials.count(trials.fit(attack, PointCriterion(delta))), delta)


def estimate(counts: Counts, delta: float) -> float:
    """The point estimate as published: infinite where there is no error at all."""
    # Without any error both directions are skipped, but nothing was ever told apart better.
    return math.inf if counts.fp == counts.fn == 0 else Point().epsilon(counts, delta)


def _chunks(trials: Trials) -> list[Trials]:
    """Every whole chunk of 100 models, balanced; all of them where there are fewer."""
    out, inn = (np.flatnonzero(trials.worlds == world) for world in (OUT, IN))
    half = CHUNK // 2
    whole = min(len(out), len(inn)) // half
    if whole == 0:
        return [trials]
    parts = [slice(i * half, (i + 1) * half) for i in range(whole)]
    return [trials[np.concatenate([out[part], inn[part]])] for part in parts]
