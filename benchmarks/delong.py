"""AUCs with confidence intervals, and differences of two that the same models give.

DeLong, DeLong and Clarke-Pearson, Comparing the Areas under Two or More Correlated Receiver
Operating Characteristic Curves: A Nonparametric Approach (1988). Normal intervals, for hundreds of
models in each world; they describe a score, and bound no epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from dpaudit.results import Scores
from dpaudit.types import Array

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A number, and its standard error."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """Two-sided at 95 %."""
        reach = float(ndtri((1 + CONFIDENCE) / 2)) * self.error
        return self.value - reach, self.value + reach

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f})"


def auc(scores: Scores) -> Estimate:
    """How often a model with the canary scores above one without it, ties counting half."""
    return _estimate(*_placements(scores))


def difference(one: Scores, other: Scores) -> Estimate:
    """The AUC of one score less that of another, which the same models have in the same order."""
    ours, theirs = _placements(one), _placements(other)
    out, inn = (a - b for a, b in zip(ours, theirs, strict=True))
    return _estimate(out, inn)


def mean(independent: Sequence[Estimate]) -> Estimate:
    """The plain mean of estimates from models of their own."""
    error = math.sqrt(sum(one.error**2 for one in independent)) / len(independent)
    return Estimate(float(np.mean([one.value for one in independent])), error)


def _placements(scores: Scores) -> tuple[Array, Array]:
    """The share of models in the other world that each is on the right side of: out, in."""
    n0, n1 = len(scores.out), len(scores.inn)
    among_all = rankdata(np.concatenate([scores.out, scores.inn]))
    out = 1 - (among_all[:n0] - rankdata(scores.out)) / n1
    inn = (among_all[n0:] - rankdata(scores.inn)) / n0
    return out, inn


def _estimate(out: Array, inn: Array) -> Estimate:
    """The mean is the same over either world; both worlds' spread makes its error."""
    variance = sum(float(np.var(v, ddof=1)) / len(v) for v in (out, inn))
    return Estimate(float(inn.mean()), math.sqrt(variance))
