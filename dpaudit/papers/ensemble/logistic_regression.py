"""Logistic regression, minimised exactly, and two ways to make it differentially private.

J(w) = (1/n) sum_i ln(1 + exp(-y_i w.x_i)) + (Lambda/2) ||w||^2 + (1/n) b.w

Chaudhuri, Monteleoni and Sarwate, Differentially Private Empirical Risk Minimization (2011),
Algorithms 2 and 1. Neighbours replace one of n records; rows have ||x|| <= 1; the loss has
|l'| <= 1 and 0 <= l'' <= c.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np
from scipy.special import expit

from dpaudit import checks
from dpaudit.errors import DpauditError
from dpaudit.papers.ensemble.unit_rows import Rows
from dpaudit.types import Array

C = 0.25
"""c, the largest second derivative of the logistic loss."""

EXACT = 1e-10
"""The norm of a gradient that counts as 0. A less exact minimum voids the proof."""

ROUNDING = 64 * np.finfo(np.float64).eps
"""The share of a huge term that is its own rounding."""

MOST = 200
"""Largest number of Newton steps; some ten are usual."""

HALVINGS = 60
"""Largest number of halvings of a step."""


class NotMinimised(DpauditError):
    """No minimum was found because rounding does not let the gradient vanish."""

    code = "not-minimised"


def loss(margins: Array) -> Array:
    """ln(1 + e^-z), of a margin z = y f(x) of any size."""
    return np.asarray(np.logaddexp(0.0, -np.asarray(margins)))


def minimise(rows: Rows, lam: float, b: Array | None = None) -> Array:
    """argmin J for each linear term, (terms, d) to (terms, d); without terms, argmin of plain J.

    Newton's method from 0, halving a step as long as it does not shorten the gradient; J is
    strongly convex, so that this ends at its only minimum. Each term is solved by products of its
    own, so that its result is the same to the last bit whatever is solved beside it.
    """
    checks.refuse([checks.of("lam", checks.positive("the regularisation", lam))])
    if b is None:
        return np.asarray(minimise(rows, lam, np.zeros((1, rows.features)))[0])
    w = np.zeros_like(b, dtype=np.float64)
    g = gradient(rows, lam, b, w)
    size = np.linalg.norm(g, axis=1)
    enough = np.maximum(EXACT, ROUNDING * np.linalg.norm(b, axis=1) / len(rows))
    for _ in range(MOST):
        open_ = np.flatnonzero(size > enough)
        if not len(open_):
            return w
        step = np.linalg.solve(hessian(rows, lam, w[open_]), g[open_, :, None])[..., 0]
        w[open_], g[open_], size[open_] = _shorter(rows, lam, b[open_], w[open_], step, size[open_])
    raise NotMinimised(
        f"no minimum within {MOST} steps (gradient {size.max():.1e}); take more regularisation"
    )


def gradient(rows: Rows, lam: float, b: Array, w: Array) -> Array:
    """The gradient of J at each w."""
    pull = sigmoid_sum(rows, w)
    return np.asarray((b - pull) / len(rows) + lam * w)


def sigmoid_sum(rows: Rows, w: Array) -> Array:
    """sum_i y_i s(-y_i w.x_i) x_i at each w: minus the gradient of the losses' sum."""
    signed = rows.y[:, None] * rows.x
    s = expit(-np.matmul(signed, w[:, :, None]))
    return np.asarray(np.matmul(signed.T, s)[..., 0])


def hessian(rows: Rows, lam: float, w: Array) -> Array:
    """The Hessian of J at each w: (1/n) sum_i s (1 - s) x_i x_i^T + Lambda I."""
    s = expit(np.matmul(rows.x, w[:, :, None]))
    curved = np.matmul((s * (1 - s) * rows.x).transpose(0, 2, 1), rows.x)
    return np.asarray(curved / len(rows) + lam * np.eye(rows.features))


def _shorter(
    rows: Rows, lam: float, b: Array, w: Array, step: Array, size: Array
) -> tuple[Array, Array, Array]:
    """Return the points after the longest steps that shorten the gradient, and their gradients."""
    length = np.ones(len(w))
    for _ in range(HALVINGS):
        there = w - length[:, None] * step
        g = gradient(rows, lam, b, there)
        now = np.linalg.norm(g, axis=1)
        longer = ~(now < size)
        if not longer.any():
            break
        length[longer] /= 2
    return there, g, now


@dataclass(frozen=True)
class ObjectiveNoise:
    """The noise of an objective, b with a density prop. to exp(-(eps'/2) ||b||).

    `added` is the regularisation Delta beside Lambda.
    """

    epsilon: float
    added: float

    @classmethod
    def of(cls, epsilon: float, n: int, lam: float) -> ObjectiveNoise:
        """The noise for n records of one organisation, after the Jacobian's share of epsilon.

        eps' = eps - 2 ln(1 + c/(n Lambda)), and Delta = 0, where that is above 0. Else half of
        epsilon goes to either, which takes Delta = c/(n (e^(eps/4) - 1)) - Lambda more. So eps' is
        not monotone in eps: it falls to 0 from above, and below the switch it is eps/2 again.
        """
        checks.refuse(
            [
                checks.positive("epsilon", epsilon),
                checks.at_least("records", n, 1),
                checks.of("lam", checks.positive("the regularisation", lam)),
            ]
        )
        left = epsilon - 2 * math.log1p(C / (n * lam))
        if left > 0:
            return cls(left, 0.0)
        return cls(epsilon / 2, C / (n * math.expm1(epsilon / 4)) - lam)


@dataclass(frozen=True)
class ObjectivePerturbation:
    """w = argmin J with noise b: eps-DP because w and b determine each other.

    b(w; D) = sum_i y_i s(-y_i w.x_i) x_i - n (Lambda + Delta) w. Between neighbours it moves by at
    most 2, which costs e^eps', and the Jacobian's determinant changes by a factor of at most
    (1 + c/(n (Lambda + Delta)))^2.
    """

    epsilon: float
    lam: float

    def noise(self, n: int) -> ObjectiveNoise:
        """Return what is added to the objective of n records."""
        return ObjectiveNoise.of(self.epsilon, n, self.lam)

    def release(self, rows: Rows, draws: Sequence[np.random.Generator]) -> Array:
        """Return a learner from each generator, (draws, d)."""
        noise = self.noise(len(rows))
        b = self.draw(noise.epsilon / 2, rows.features, draws)
        return self.minimise(rows, self.lam + noise.added, b)

    def without_noise(self, rows: Rows) -> Array:
        """Return the learner without noise, b = 0."""
        lam = self.lam + self.noise(len(rows)).added
        return np.asarray(self.minimise(rows, lam, np.zeros((1, rows.features)))[0])

    def draw(self, rate: float, d: int, draws: Sequence[np.random.Generator]) -> Array:
        """b with a density prop. to exp(-rate ||b||)."""
        return spherical(rate, d, draws)

    def minimise(self, rows: Rows, lam: float, b: Array) -> Array:
        """argmin J, exactly."""
        return minimise(rows, lam, b)

    def log_ratio(self, w: Array, out: Rows, inn: Rows) -> Array:
        """ln p(w | D')/p(w | D) of each released w: the best score there is, exactly.

        -(eps'/2) (||b(w; D')|| - ||b(w; D)||) + ln det H(w; D') - ln det H(w; D), where H is
        n times the Hessian.
        """
        return self._log_density(w, inn) - self._log_density(w, out)

    def _log_density(self, w: Array, rows: Rows) -> Array:
        """ln p(w | rows), up to what all data sets of this size share."""
        noise = self.noise(len(rows))
        lam = self.lam + noise.added
        b = sigmoid_sum(rows, w) - len(rows) * lam * w
        _, determinant = np.linalg.slogdet(hessian(rows, lam, w))
        return np.asarray(determinant - noise.epsilon / 2 * self.length(b))

    def length(self, b: Array) -> Array:
        """The norm in the noise's density."""
        return np.asarray(np.linalg.norm(b, axis=1))


@dataclass(frozen=True)
class OutputPerturbation:
    """w = argmin J without noise, plus noise: eps-DP because w moves by 2/(n Lambda) at most."""

    epsilon: float
    lam: float

    def rate(self, n: int) -> float:
        """The density of the noise is prop. to exp(-rate ||noise||)."""
        checks.refuse([checks.positive("epsilon", self.epsilon)])
        return n * self.lam * self.epsilon / 2

    def release(self, rows: Rows, draws: Sequence[np.random.Generator]) -> Array:
        """Return a learner from each generator, (draws, d)."""
        noise = spherical(self.rate(len(rows)), rows.features, draws)
        return self.without_noise(rows) + noise

    def without_noise(self, rows: Rows) -> Array:
        """Return the minimum, around which releases lie."""
        return minimise(rows, self.lam)

    def log_ratio(self, w: Array, out: Rows, inn: Rows) -> Array:
        """ln p(w | D')/p(w | D) of each released w."""
        away = [np.linalg.norm(w - self.without_noise(rows), axis=1) for rows in (out, inn)]
        return np.asarray(self.rate(len(out)) * (away[0] - away[1]))


PrivateLearner: TypeAlias = Union[ObjectivePerturbation, OutputPerturbation]

PERTURBATIONS: Mapping[str, type[ObjectivePerturbation] | type[OutputPerturbation]] = {
    "objective": ObjectivePerturbation,
    "output": OutputPerturbation,
}


def spherical(rate: float, d: int, draws: Sequence[np.random.Generator]) -> Array:
    """Vectors with a density prop. to exp(-rate ||b||): Gamma(d) norms, uniform directions."""
    drawn = np.empty((len(draws), d))
    for i, draw in enumerate(draws):
        direction = draw.standard_normal(d)
        drawn[i] = draw.gamma(d, 1 / rate) * direction / np.linalg.norm(direction)
    return drawn
