"""Regularised logistic regression with a linear term, minimised exactly: many such terms at once.

J(w) = (1/n) sum_i ln(1 + exp(-y_i w.x_i)) + (Lambda/2) ||w||^2 + (1/n) b.w
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from dpaudit import checks
from dpaudit.ensemble.rows import Rows
from dpaudit.errors import DpauditError
from dpaudit.types import Array

EXACT = 1e-10
"""The norm of a gradient that counts as none. What is solved less well voids the proof."""

ROUNDING = 64 * np.finfo(np.float64).eps
"""So much of a huge term is its own rounding, below which no sum with it gets."""

MOST = 200
"""Steps of Newton's method; some ten are usual."""

HALVINGS = 60


class NotMinimised(DpauditError):
    """No minimum was found: rounding does not let the gradient vanish."""

    code = "not-minimised"


def loss(margins: Array) -> Array:
    """ln(1 + e^-z), of a margin z = y f(x) of any size."""
    return np.asarray(np.logaddexp(0.0, -np.asarray(margins)))


def minimised(rows: Rows, lam: float, b: Array | None = None) -> Array:
    """argmin J for each linear term, (terms, d) to (terms, d); without one, that of plain J.

    Newton's method from 0, halving a step as long as it does not shorten the gradient; J is
    strongly convex, so that this ends at its only minimum. Each term is solved by products of its
    own, so that its result is the same to the last bit whatever is solved beside it.
    """
    checks.refuse([checks.of("lam", checks.positive("the regularisation", lam))])
    if b is None:
        return np.asarray(minimised(rows, lam, np.zeros((1, rows.features)))[0])
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
    """Of J at each w."""
    pull = sigmoid_sum(rows, w)
    return np.asarray((b - pull) / len(rows) + lam * w)


def sigmoid_sum(rows: Rows, w: Array) -> Array:
    """sum_i y_i s(-y_i w.x_i) x_i at each w: minus the gradient of the losses' sum."""
    signed = rows.y[:, None] * rows.x
    s = expit(-np.matmul(signed, w[:, :, None]))
    return np.asarray(np.matmul(signed.T, s)[..., 0])


def hessian(rows: Rows, lam: float, w: Array) -> Array:
    """Of J at each w: (1/n) sum_i s (1 - s) x_i x_i^T + Lambda I."""
    s = expit(np.matmul(rows.x, w[:, :, None]))
    curved = np.matmul((s * (1 - s) * rows.x).transpose(0, 2, 1), rows.x)
    return np.asarray(curved / len(rows) + lam * np.eye(rows.features))


def _shorter(
    rows: Rows, lam: float, b: Array, w: Array, step: Array, size: Array
) -> tuple[Array, Array, Array]:
    """The points after as long a step as shortens the gradient, and their gradients."""
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
