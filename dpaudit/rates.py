"""From error counts to epsilon: the formulas that attacks and estimators share.

A mechanism that is (epsilon, delta)-DP forces FPR + e^epsilon FNR >= 1 - delta and the
mirrored inequality on every attack (Kairouz, Oh and Viswanath 2015); an epsilon that
violates one of them is refuted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Union

import numpy as np
from scipy.special import betaincinv, ndtri

from dpaudit.types import Array

Numbers = Union[Array, float, int]


def upper_rate(k: Numbers, n: int, a: float) -> Array:
    """U(k, n, a): the exact one-sided upper confidence bound on a rate, 1 where k = n."""
    k = np.asarray(k, dtype=float)
    return np.where(k >= n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1.0), 1 - a))


@lru_cache(maxsize=64)
def upper_rates(n: int, a: float) -> Array:
    """U of all counts from 0 to n: choosing a rule asks for the same ones again and again."""
    rates = upper_rate(np.arange(n + 1), n, a)
    rates.flags.writeable = False
    return rates


def lower_rate(k: Numbers, n: int, a: float) -> Array:
    """L(k, n, a): the exact one-sided lower confidence bound on a rate, 0 where k = 0."""
    k = np.asarray(k, dtype=float)
    return np.where(k <= 0, 0.0, betaincinv(np.maximum(k, 1.0), n - k + 1, a))


def log_ratio(fpr: Numbers, fnr: Numbers, delta: float) -> Array:
    """max{ln((1-d-FPR)/FNR), ln((1-d-FNR)/FPR)}, not clipped at 0.

    A direction without evidence (zero denominator, numerator not positive) counts as -inf,
    so that it is skipped.
    """
    x, y = np.asarray(fpr, dtype=float), np.asarray(fnr, dtype=float)
    return np.maximum(_direction(x, y, delta), _direction(y, x, delta))


def _direction(x: Array, y: Array, delta: float) -> Array:
    numerator = 1 - delta - x
    usable = (numerator > 0) & (y > 0)
    ratio = np.divide(numerator, y, out=np.ones(np.broadcast(x, y).shape), where=usable)
    return np.where(usable, np.log(ratio), -np.inf)


def epsilon_interval(
    lower: tuple[float, float], upper: tuple[float, float], delta: float
) -> tuple[float, float]:
    """The least and the largest epsilon that rates (FPR, FNR) between these limits can show.

    The largest is infinite where a rate may be 0 and the other one leaves something to show.
    """
    least = max(0.0, float(log_ratio(*upper, delta)))
    if min(lower) <= 0 and max(lower) < 1 - delta:
        return least, math.inf
    return least, max(least, float(log_ratio(*lower, delta)))


@dataclass(frozen=True)
class PointCriterion:
    """The published estimate of a rule: the formula on the observed rates themselves."""

    delta: float

    def __call__(self, fp: Array, out: int, fn: Array, inn: int) -> Array:
        return log_ratio(np.asarray(fp) / out, np.asarray(fn) / inn, self.delta)


@dataclass(frozen=True)
class BoundCriterion:
    """What a rule would certify if its counts were those of the judging half.

    Not clipped at 0: below it the value still ranks rules, so that a choice among many
    useless rules takes the least useless one.
    """

    delta: float
    confidence: float = 0.95

    def __call__(self, fp: Array, out: int, fn: Array, inn: int) -> Array:
        a = (1 - self.confidence) / 2
        u0, u1 = upper_rates(out, a)[fp], upper_rates(inn, a)[fn]
        return log_ratio(u0, u1, self.delta)


@dataclass(frozen=True)
class GaussianCriterion:
    """The same for a mechanism with a Gaussian curve: mu_L, which ranks rules as epsilon does.

    A rule that is best without an assumption errs seldom in one world; here one in the middle
    shows more.
    """

    confidence: float = 0.95

    def __call__(self, fp: Array, out: int, fn: Array, inn: int) -> Array:
        a = (1 - self.confidence) / 2
        u0, u1 = upper_rates(out, a)[fp], upper_rates(inn, a)[fn]
        return np.asarray(-ndtri(u0) - ndtri(u1))


def round_scores(scores: Array, digits: int = 9) -> Array:
    """Scores to `digits` significant digits.

    The low bits of floating-point noise can give a world away where the mechanism does not;
    that side channel is not what an audit of the mechanism is about.
    """
    scores = np.asarray(scores, dtype=float)
    usable = np.isfinite(scores) & (scores != 0)
    magnitude = np.floor(np.log10(np.abs(scores), out=np.zeros_like(scores), where=usable))
    # Clipped, because the power overflows for denormal numbers.
    scale = 10.0 ** np.clip(digits - 1 - magnitude, -300, 300)
    return np.where(usable, np.round(np.where(usable, scores, 0.0) * scale) / scale, scores)
