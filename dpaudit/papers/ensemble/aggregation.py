"""Learners of others, weighed exponentially by how they do on one's own data.

Minami, Sato, Arai and Nakagawa, Aggregating Differentially Private Weak Learners (in Japanese),
(3) to (5); Juditsky, Rigollet and Tsybakov, Learning by mirror averaging (2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import log_softmax

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.ensemble.logistic_regression import loss, minimised
from dpaudit.papers.ensemble.unit_rows import Rows
from dpaudit.types import Array

# ----------------------------------------------------------------
# Learners of others, weighed exponentially by how they do on one's own data.
#
# Minami, Sato, Arai and Nakagawa, Aggregating Differentially Private Weak Learners (in Japanese),
# (3) to (5); Juditsky, Rigollet and Tsybakov, Learning by mirror averaging (2008).


READINGS = ("linear", "sign")
AVERAGES = ("mirror", "single")


@dataclass(frozen=True)
class Weighting:
    """How learners are weighed.

    lambda_m^(t) is prop. to exp(-(1/beta) sum over i <= t of l(y_i f_m(x_i))). By `mirror`
    averaging lambda is their mean over t = 0 .. n0 - 1 (`start` 0, of the oracle inequality: a
    weight never uses the point that it is judged by) or t = 1 .. n0 (`start` 1, as the paper has
    it); a `single` step takes t = n0 alone. f_m(x) is w_m.x (`linear`), so that the aggregate is a
    linear classifier again, or its sign.

    What it is for: the risk is at most min over m of R(f_m), plus beta ln M/n0. That takes a loss
    which is 1/beta-exp-concave: of margins up to R the logistic one is if beta >= e^R, which is
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
        """lambda, of (..., M, d) learners; uniform where there is no record to weigh them by.

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
        """The learners, as one."""
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
        """sum_m lambda_m w_m: of linear learners, all there is of it."""
        return np.asarray(np.matmul(self.weights[..., None, :], self.learners)[..., 0, :])


# ----------------------------------------------------------------
# Organisations with data of their own, which exchange private learners and nothing else.


class Learner(Protocol):
    """A private way to learn, with the exact likelihood ratio of what it releases."""

    def release(self, rows: Rows, draws: Sequence[np.random.Generator]) -> Array: ...

    def without_noise(self, rows: Rows) -> Array: ...

    def log_ratio(self, w: Array, out: Rows, inn: Rows) -> Array: ...


@dataclass(frozen=True)
class Organisation:
    """One of M + 1, with the data D^(m) that nobody else may see."""

    number: int
    rows: Rows

    def published(self, learner: Learner, draw: np.random.Generator) -> Array:
        """The learner that all others receive, w_m: one release, however many they are."""
        return np.asarray(learner.release(self.rows, [draw])[0])

    def local(self, lam: float) -> Array:
        """What it learns alone, without any noise, and keeps to itself."""
        return minimised(self.rows, lam)

    def aggregate(self, received: Array, weighting: Weighting) -> Aggregate:
        """What others have published, weighed by its own data.

        That uses its own data without noise: the aggregate is not private for them. It is for the
        data of the others, each of which had its part in one learner alone.
        """
        return weighting.aggregate(received, self.rows)


@dataclass(frozen=True)
class Exchange:
    """M + 1 organisations, each of which publishes once and receives from the M others.

    Their records are disjoint, so that epsilon holds for all of them together; to send one learner
    to M peers is one release.

    With n records in all, n0 of them the receiver's own, the paper's Theorem 4.1 bounds the excess
    risk of an aggregate with probability 1 - alpha by A2(lam) + (1/lam) (sqrt(M ln(2M/alpha)/(n -
    n0)) + sqrt(4M/(n - n0)) + C1 M ln(2M/alpha)/(n - n0)) + C2 M/(eps (n - n0)) + beta ln M/n0. It
    does not say what A2, C1 and C2 are, so that no number follows.
    """

    organisations: Sequence[Organisation]

    def __post_init__(self) -> None:
        if len(self.organisations) < 2:
            raise BadInput(
                "an exchange takes at least two organisations",
                "too-small",
                option="organisations",
                value=len(self.organisations),
            )

    @classmethod
    def of(cls, rows: Rows, nodes: int) -> Exchange:
        """Rows dealt out to so many organisations, as many to each."""
        return cls([Organisation(m, dealt) for m, dealt in enumerate(rows.dealt(nodes))])

    @cached_property
    def pooled(self) -> Rows:
        """The data of all together, which nobody has."""
        each = [organisation.rows for organisation in self.organisations]
        return Rows(np.concatenate([r.x for r in each]), np.concatenate([r.y for r in each]))

    def published(self, learner: Learner, draw: np.random.Generator) -> Array:
        """What every organisation publishes, (M + 1, d)."""
        return np.stack([each.published(learner, draw) for each in self.organisations])

    def aggregates(self, published: Array, weighting: Weighting) -> list[Aggregate]:
        """What each of them makes of the learners of the others."""
        return [
            each.aggregate(np.delete(published, m, axis=0), weighting)
            for m, each in enumerate(self.organisations)
        ]
