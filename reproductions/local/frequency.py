"""How many users have the value d0: four estimators of pi = Pr(d0) from yes-or-no reports.

Hidden: the collector knows the shares of the parameters, not who has which. Public: it knows
them. Reports are given as counts, `zeros[..., theta]` of `sizes[theta]` users that reported d0; a
leading axis is as many experiments at once. Any matrices of two values and two reports will do:
Pr(report d0) = q_theta(pi) = pi P[0, 0] + (1 - pi) P[0, 1].

As printed, the log-likelihoods of the paper, (15) and (16), have 2 a pi - pi + a + 1 for that
probability, which is above 1; it is 2 a pi - pi - a + 1 (and holds for symmetric matrices). In
(15) the sum over theta is inside the logarithm. What is computed here is the likelihood itself.
"""

from __future__ import annotations

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.papers.local import Population
from dpaudit.types import Array

HALVINGS = 40
"""Of [0, 1]: to twelve digits."""

USELESS = 1e-12
"""A matrix whose columns are nearer to each other says nothing of the value."""


def hidden_unbiased(population: Population, zeros: Array, sizes: Array) -> Array:
    """(lambda - 1 + pbar)/(2 pbar - 1) of the share lambda of reports d0; may leave [0, 1]."""
    low, span = _channels(population)
    share = zeros.sum(axis=-1) / sizes.sum()
    return np.asarray((share - low[-1]) / _told(span[-1]))


def hidden_mle(population: Population, zeros: Array, sizes: Array) -> Array:
    """The most likely pi: the unbiased estimate where that is possible, else the nearest end.

    The likelihood of n0 reports d0 and n1 others is concave in pi and largest at q(pi) = lambda.
    """
    return np.clip(hidden_unbiased(population, zeros, sizes), 0, 1)


def public_unbiased(population: Population, zeros: Array, sizes: Array) -> Array:
    """Of the estimates from each parameter's users and from all, that of least variance.

    The variance is itself estimated, (19), by lambda (1 - lambda)/((n - 1) (P[0,0] - P[0,1])^2),
    which for symmetric matrices is the printed one; n is the number of users of the group, and
    reports are taken for independent. To choose by an estimate costs: the choice is biased.
    """
    low, span = _channels(population)
    n = np.append(sizes, sizes.sum())
    counted = np.concatenate([zeros, zeros.sum(axis=-1, keepdims=True)], axis=-1)
    usable = (n > 1) & (np.abs(span) > USELESS)
    if not usable.any():
        raise BadInput(
            "no group of users has two reports that say anything of their values",
            "no-information",
            option="groups",
        )
    share = counted[..., usable] / n[usable]
    estimates = (share - low[usable]) / span[usable]
    variances = share * (1 - share) / ((n[usable] - 1) * span[usable] ** 2)
    best = variances.argmin(axis=-1)[..., None]
    return np.asarray(np.take_along_axis(estimates, best, axis=-1)[..., 0])


def public_mle(population: Population, zeros: Array, sizes: Array) -> Array:
    """The most likely pi, by bisection on the score, which falls with pi.

    score(pi) = sum over theta of (P[0,0] - P[0,1]) (n0/q - n1/(1 - q)).
    """
    low, span = (part[..., :-1] for part in _channels(population))
    if (np.abs(span) <= USELESS).all():
        raise BadInput(
            "no parameter's reports say anything of their values",
            "no-information",
            option="parameters",
        )
    lower = np.zeros(zeros.shape[:-1])
    upper = np.ones_like(lower)
    for _ in range(HALVINGS):
        middle = (lower + upper) / 2
        q = middle[..., None] * span + low
        score = (span * (zeros / q - (sizes - zeros) / (1 - q))).sum(axis=-1)
        lower, upper = np.where(score > 0, middle, lower), np.where(score > 0, upper, middle)
    return np.asarray((lower + upper) / 2)


def error(estimates: Array, truth: Array) -> Array:
    """The mean squared error over all categories, the last axis.

    The paper's (3) divides by r - 1 with categories d_0 to d_r: by 0 where there are two.
    """
    return np.asarray(np.mean((np.asarray(estimates) - truth) ** 2, axis=-1))


def _channels(population: Population) -> tuple[Array, Array]:
    """Pr(report d0) with value d1, and what d0 adds to it: by parameter, then blended."""
    if population.matrices.shape[1:] != (2, 2):
        raise BadInput(
            "shares are estimated of two values from two kinds of reports",
            "shape-mismatch",
            option="matrices",
            value=population.matrices.shape[1:],
        )
    told = np.append(population.matrices[:, 0], population.blended[None, 0], axis=0)
    return told[:, 1], told[:, 0] - told[:, 1]


def _told(span: float) -> float:
    if abs(span) <= USELESS:
        raise BadInput(
            "the blended reports say nothing of the values", "no-information", option="reports"
        )
    return span
