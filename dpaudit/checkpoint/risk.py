"""How well a score tells members from others: figures that describe, and bound no epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr
from scipy.stats import rankdata

from dpaudit.types import Array, Scores

RATES = (0.01, 0.001)
"""False-positive rates at which the true-positive rate is told."""


@dataclass(frozen=True)
class Risk:
    """The AUC with its interval, and the true-positive rate at low false-positive rates.

    A rate is None where there are too few others for it: one of them is already more.
    """

    auc: float
    interval: tuple[float, float]
    confidence: float
    tpr: Mapping[float, float | None]


def risk(scores: Scores, confidence: float) -> Risk:
    """The figures of one model."""
    u = auc(scores)
    n = min(len(scores.out), len(scores.inn))
    rates = {fpr: tpr_at(scores, fpr) for fpr in RATES}
    return Risk(u, auc_interval(u, n, confidence), confidence, rates)


def auc(scores: Scores) -> float:
    """How often a member scores above another record, ties counting half."""
    n0, n1 = len(scores.out), len(scores.inn)
    ranks = rankdata(np.concatenate([scores.inn, scores.out]))[:n1]
    return float((ranks.sum() - n1 * (n1 + 1) / 2) / (n0 * n1))


def auc_interval(u: float, n: int, confidence: float) -> tuple[float, float]:
    """Two-sided, for any number of records: all A with n KL(u, A) <= ln(2/a).

    A U-statistic is a mean, over all ways to pair, of means of n = min(n0, n1) independent pairs,
    so that Chernoff's bound for n of them holds for it too (Hoeffding 1963, section 5a). Wider
    than DeLong's interval, which holds for many records only and is empty at an AUC of 1.
    """
    most = math.log(2 / (1 - confidence)) / n

    def inside(a: float) -> bool:
        return float(rel_entr(u, a) + rel_entr(1 - u, 1 - a)) <= most

    return _edge(inside, u, 0.0), _edge(inside, u, 1.0)


def _edge(inside: Callable[[float], bool], good: float, bad: float) -> float:
    """Where it ends, rounded outwards."""
    while abs(good - bad) > 1e-9:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if inside(middle) else (good, middle)
    return bad


def tpr_at(scores: Scores, fpr: float) -> float | None:
    """The share of members above a cut that no more than so many others are above."""
    n0 = len(scores.out)
    allowed = math.floor(n0 * fpr + 1e-9)
    if allowed < 1:
        return None
    cut = np.sort(scores.out)[n0 - allowed - 1] if allowed < n0 else -np.inf
    return float(np.mean(scores.inn > cut))


def needed(fpr: float) -> int:
    """How many others it takes to tell a rate."""
    return math.ceil(1 / fpr - 1e-9)


def split(scores: Array, put_in: Array) -> Scores:
    """Those of others, and those of members."""
    return Scores(out=scores[~put_in], inn=scores[put_in])
