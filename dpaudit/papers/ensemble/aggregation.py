"""Learners of others, weighed exponentially by their losses on one's own data.

Minami, Sato, Arai and Nakagawa, Aggregating Differentially Private Weak Learners (in Japanese),
(3) to (5); Juditsky, Rigollet and Tsybakov, Learning by mirror averaging (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from dpaudit import checks
from dpaudit.papers.ensemble.logistic_regression import loss
from dpaudit.papers.ensemble.unit_rows import Rows
from dpaudit.types import Array

READINGS = ("linear", "sign")
AVERAGES = ("mirror", "single")


@dataclass(frozen=True)
class Weighting:
    """Exponential weights of learners.

    lambda_m^(t) is prop. to exp(-(1/beta) sum over i <= t of l(y_i f_m(x_i))). By `mirror`
    averaging lambda is their mean over t = 0 .. n0 - 1 (`start` 0, of the oracle inequality: a
    weight never uses the point that it is judged by) or t = 1 .. n0 (`start` 1, as the paper has
    it); a `single` step takes t = n0 alone. f_m(x) is w_m.x (`linear`), so that the aggregate is a
    linear classifier again, or its sign.

    The risk is at most min over m of R(f_m), plus beta ln M/n0, for a loss that is
    1/beta-exp-concave: of margins up to R the logistic one is if beta >= e^R, which is
    2.72 for signs and much for learners that noise has made long. As printed, the right side of
    (5) lacks 1/n0, which the sign does not see.
    """

    beta: float = 3.0
    start: int = 0
    reading: str = "linear"
    average: str = "mirror"

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.positive("beta", self.beta),
                checks.whole("start", self.start, 0, 1),
                checks.one_of("reading", self.reading, READINGS),
                checks.one_of("average", self.average, AVERAGES),
            ]
        )

    def weights(self, learners: Array, own: Rows) -> Array:
        """lambda of (..., M, d) learners; uniform if there is no record.

        The first axes are as many sets of learners, each weighed alone.
        """
        margins = own.y * self.outputs(learners, own.x)
        so_far = np.zeros((*margins.shape[:-1], len(own) + 1))
        np.cumsum(loss(margins), axis=-1, out=so_far[..., 1:])
        steps = -so_far / self.beta
        if self.average == "single" or not len(own):
            steps = steps[..., -1:]
        else:
            steps = steps[..., self.start : len(own) + self.start]
        return np.asarray(np.exp(log_softmax(steps, axis=-2)).mean(axis=-1))

    def outputs(self, learners: Array, x: Array) -> Array:
        """f_m(x), (..., M, d) to (..., M, rows)."""
        z = np.matmul(learners, x.T)
        return np.asarray(z if self.reading == "linear" else np.sign(z))

    def aggregate(self, learners: Array, own: Rows) -> Aggregate:
        """Return the learners and their weights.

        Their own rows go into the weights without noise: the aggregate is not private for them.
        """
        return Aggregate(learners, self.weights(learners, own), self)


@dataclass(frozen=True)
class Aggregate:
    """sum_m lambda_m f_m, and its sign as the classifier."""

    learners: Array
    weights: Array
    weighting: Weighting

    def scores(self, x: Array) -> Array:
        """sum_m lambda_m f_m(x) of each row."""
        f = self.weighting.outputs(self.learners, x)
        return np.asarray(np.matmul(self.weights[..., None, :], f)[..., 0, :])

    @property
    def parameters(self) -> Array:
        """sum_m lambda_m w_m, which determines an aggregate of linear learners."""
        return np.asarray(np.matmul(self.weights[..., None, :], self.learners)[..., 0, :])
