"""The first phase: where records lie, by DP-PCA, and a mixture of Gaussians there, by DP-EM."""

from __future__ import annotations

import math

import numpy as np

from dpaudit.p3gm import em, pca
from dpaudit.p3gm.design import Design
from dpaudit.seeds import generator
from dpaudit.types import Array


def inside(design: Design, rows: Array, classes: int) -> Array:
    """Rows in the unit ball, which is what sensitivities rest on."""
    if not design.network.label_length:
        return pca.within_unit_ball(
            (rows - _origin(design, rows.shape[1], classes)) / design.radius
        )
    x, labels = rows[:, :-classes], rows[:, -classes:]
    short = pca.within_unit_ball((x - design.centre) / design.radius)
    both = np.concatenate([short, design.network.label_length * labels], axis=1)
    return np.asarray(both / math.hypot(1, design.network.label_length))


def outside(design: Design, points: Array, classes: int) -> Array:
    """Rows as they were, but for those that were cut: `inside` undone."""
    origin = _origin(design, points.shape[1], classes)
    if not design.network.label_length:
        return np.asarray(points * design.radius + origin)
    scales = np.full(points.shape[1], design.radius)
    scales[-classes:] = 1 / design.network.label_length
    return np.asarray(points * scales * math.hypot(1, design.network.label_length) + origin)


def learned(design: Design, rows: Array, classes: int, seed: int) -> tuple[Array, em.Mixture]:
    """The projection, and the mixture of what is projected."""
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


def _origin(design: Design, width: int, classes: int) -> Array:
    return np.where(np.arange(width) < width - classes, design.centre, 0.0)


def _projection(design: Design, points: Array, classes: int, draw: np.random.Generator) -> Array:
    """Orthonormal columns: DP-PCA's, and beside them those of the labels if they have their own."""
    if not design.network.label_length:
        return pca.components(_moment(design, points, draw), design.network.latent)
    # Of unit length again: the noise is that of features alone.
    x = points[:, :-classes] * math.hypot(1, design.network.label_length)
    found = pca.components(_moment(design, x, draw), design.network.latent)
    d = points.shape[1]
    projection = np.zeros((d, design.network.latent + classes))
    projection[: d - classes, : design.network.latent] = found
    projection[d - classes :, design.network.latent :] = np.eye(classes)
    return projection


def _moment(design: Design, points: Array, draw: np.random.Generator) -> Array:
    a = pca.second_moment(points)
    if not design.first.pca_noise:
        return a
    noisy = {"wishart": pca.wishart, "gaussian": pca.gaussian}[design.first.pca]
    return noisy(a, len(points), design.first.pca_noise, draw)
