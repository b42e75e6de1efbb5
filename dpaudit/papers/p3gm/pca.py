"""DP-PCA: the second moment of records in the unit ball, released with noise.

A = (1/n) sum of x x^T. Not centred: a mean of the data would cost privacy that nobody accounts for.
With DP-EM in its directions it is the first phase of P3GM.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

import numpy as np

from dpaudit import checks
from dpaudit.papers.p3gm import em
from dpaudit.papers.p3gm.design import GeneratorRecipe
from dpaudit.seeds import generator
from dpaudit.types import Array

SENSITIVITY = math.sqrt(2)
"""Frobenius norm of x x^T - y y^T, x orthogonal to y: the change of n A by a replaced record."""


def within_unit_ball(x: Array) -> Array:
    """Shorten rows to unit norm, on which all sensitivities rest."""
    rows = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1.0))


def second_moment(rows: Array) -> Array:
    """Return A of rows in the unit ball."""
    return np.asarray(rows.T @ rows / len(rows))


def wishart(a: Array, n: int, epsilon: float, draw: np.random.Generator) -> Array:
    """A + W, W of the Wishart law with d + 1 degrees of freedom and C = 3/(2 n epsilon) I.

    Published as epsilon-DP (Jiang, Xie and Zhang, Wishart Mechanism for Differentially Private
    Principal Components Analysis, 2016), which it is not: W is positive semi-definite, so that
    what is released is never below A in any direction. See `escape`.
    """
    checks.refuse([checks.of("epsilon", checks.positive("epsilon of DP-PCA", epsilon))])
    d = len(a)
    g = draw.normal(size=(d, d + 1))
    return np.asarray(a + 3 / (2 * n * epsilon) * (g @ g.T))


def escape(epsilon: float) -> float:
    """The probability that A + W has a direction below A + v v^T/n, |v| = 1: 1 - exp(-epsilon/3).

    With v in D' it has none, so that no finite epsilon holds with a smaller delta than this. It
    is the chance of 1/(v^T W^-1 v), which is C times a chi-squared of 2 degrees of freedom
    whatever d, to be below 1/n.
    """
    return -math.expm1(-epsilon / 3)


def below(released: Array, a: Array) -> float:
    """The smallest eigenvalue of a release minus A; with Wishart noise on A it is positive."""
    return float(np.linalg.eigvalsh(released - a)[0])


def gaussian(a: Array, n: int, noise_multiplier: float, draw: np.random.Generator) -> Array:
    """A + symmetric Gaussian noise of s times the Frobenius sensitivity: exactly 1/s-GDP.

    Off the diagonal the deviation is smaller by sqrt(2), because each number is there twice: the
    noise is then alike in all directions of symmetric matrices.
    """
    checks.refuse(
        [checks.of("noise_multiplier", checks.positive("the noise of DP-PCA", noise_multiplier))]
    )
    z = draw.normal(size=a.shape)
    return np.asarray(a + noise_multiplier * SENSITIVITY / n * (z + z.T) / 2)


def log_ratio(released: Array, a: Array, other: Array, n: int, noise_multiplier: float) -> float:
    """ln p'(released)/p(released) of Gaussian noise around `other` and around `a`."""
    sigma = noise_multiplier * SENSITIVITY / n
    apart = other - a
    return float(np.sum((released - (a + other) / 2) * apart) / sigma**2)


def components(released: Array, latent: int) -> Array:
    """Return eigenvectors of the largest eigenvalues as columns, their largest entry positive."""
    d = len(released)
    checks.refuse([checks.whole("latent", latent, 1, d)])
    v = np.linalg.eigh(released)[1][:, ::-1][:, :latent]
    signs = np.sign(v[np.abs(v).argmax(axis=0), np.arange(latent)])
    return np.asarray(v * np.where(signs == 0, 1, signs))


def inside(design: GeneratorRecipe, rows: Array, classes: int) -> Array:
    """Return rows as points in the unit ball."""
    if not design.network.label_length:
        return within_unit_ball((rows - _origin(design, rows.shape[1], classes)) / design.radius)
    x, labels = rows[:, :-classes], rows[:, -classes:]
    short = within_unit_ball((x - design.centre) / design.radius)
    both = np.concatenate([short, design.network.label_length * labels], axis=1)
    return np.asarray(both / math.hypot(1, design.network.label_length))


def outside(design: GeneratorRecipe, points: Array, classes: int) -> Array:
    """Undo `inside`, except for rows that were cut."""
    origin = _origin(design, points.shape[1], classes)
    if not design.network.label_length:
        return np.asarray(points * design.radius + origin)
    scales = np.full(points.shape[1], design.radius)
    scales[-classes:] = 1 / design.network.label_length
    return np.asarray(points * scales * math.hypot(1, design.network.label_length) + origin)


def fit_first_phase(
    design: GeneratorRecipe, rows: Array, classes: int, seed: int
) -> tuple[Array, em.GaussianMixture]:
    """Return the projection, and the mixture of projected points: the first phase."""
    points = inside(design, rows, classes)
    projection = _projection(design, points, classes, generator(seed, "pca"))
    draw = generator(seed, "em", "start")
    network, how = design.network, design.first
    if network.label_length:
        side = network.label_length / math.hypot(1, network.label_length)
        start = em.start_at_labels(how.components, network.latent, classes, side, draw)
    else:
        start = em.start(how.components, network.latent, draw)
    mixture = em.fit(
        *(points @ projection, start, how.iterations, how.em_noise, how.em),
        generator(seed, "em"),
    )
    return projection, mixture


def _origin(design: GeneratorRecipe, width: int, classes: int) -> Array:
    return np.where(np.arange(width) < width - classes, design.centre, 0.0)


def _projection(
    design: GeneratorRecipe, points: Array, classes: int, draw: np.random.Generator
) -> Array:
    """Return orthonormal columns of DP-PCA, and of the labels if they have their own."""
    if not design.network.label_length:
        return components(_moment(design, points, draw), design.network.latent)
    # Of unit length again: the noise is that of features alone.
    x = points[:, :-classes] * math.hypot(1, design.network.label_length)
    found = components(_moment(design, x, draw), design.network.latent)
    d = points.shape[1]
    projection = np.zeros((d, design.network.latent + classes))
    projection[: d - classes, : design.network.latent] = found
    projection[d - classes :, design.network.latent :] = np.eye(classes)
    return projection


def _moment(design: GeneratorRecipe, points: Array, draw: np.random.Generator) -> Array:
    a = second_moment(points)
    if not design.first.pca_noise:
        return a
    noisy = {"wishart": wishart, "gaussian": gaussian}[design.first.pca]
    return noisy(a, len(points), design.first.pca_noise, draw)


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit numpy's linear algebra to one thread: the same last bits on every machine."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
