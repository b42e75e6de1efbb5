"""DP-PCA: noise as published and as corrected, and what the published one gives away."""

import math

import numpy as np
import pytest
from refusals import refuses

from dpaudit.papers.p3gm import pca


def unit(d, draw):
    v = draw.normal(size=d)
    return v / np.linalg.norm(v)


def test_rows_are_cut_to_the_unit_ball_and_never_stretched():
    x = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    assert pca.within_unit_ball(x) == pytest.approx(np.array([[0.6, 0.8], [0.3, 0.4], [0, 0]]))


@pytest.mark.parametrize(
    ("epsilon", "d", "n"),
    [(0.1, 1, 50), (0.1, 10, 1000), (1, 3, 1000), (1, 10, 7), (3, 1, 20), (3, 10, 1000)],
)
def test_wishart_noise_escapes_as_often_as_stated_whatever_d_and_n(epsilon, d, n):
    """Six rates, none 5 deviations off but with a probability of 4e-6; with v in, never."""
    draws, draw = 4000, np.random.default_rng(0)
    v, a = unit(d, draw), np.eye(d) / (2 * d)
    other = a + np.outer(v, v) / n
    hits = sum(pca.below(pca.wishart(a, n, epsilon, draw), other) < 0 for _ in range(draws))
    p = pca.escape(epsilon)
    assert p == pytest.approx(1 - math.exp(-epsilon / 3))
    assert abs(hits / draws - p) < 5 * math.sqrt(p * (1 - p) / draws)
    assert all(pca.below(pca.wishart(other, n, epsilon, draw), other) > 0 for _ in range(200))


def test_wishart_noise_has_its_mean_which_shifts_every_eigenvalue():
    """(d + 1) C on the diagonal; 5 deviations of the mean of 2,000 draws."""
    d, n, epsilon, draw = 4, 100, 0.5, np.random.default_rng(1)
    c = 3 / (2 * n * epsilon)
    drawn = np.mean([pca.wishart(np.zeros((d, d)), n, epsilon, draw) for _ in range(2000)], axis=0)
    # Of W_ij the variance is (d + 1) C^2 (1 + [i = j]).
    deviation = c * np.sqrt((d + 1) * (1 + np.eye(d)) / 2000)
    assert (np.abs(drawn - (d + 1) * c * np.eye(d)) < 5 * deviation).all()


def test_no_replaced_record_moves_the_second_moment_by_more_than_its_sensitivity():
    draw = np.random.default_rng(2)
    for _ in range(200):
        x, y = (unit(3, draw) * draw.random() for _ in range(2))
        assert np.linalg.norm(np.outer(x, x) - np.outer(y, y)) <= pca.SENSITIVITY
    x, y = np.eye(3)[:2]
    moved = np.linalg.norm(np.outer(x, x) - np.outer(y, y))
    assert moved == pytest.approx(pca.SENSITIVITY)


def test_gaussian_noise_is_symmetric_and_alike_in_all_directions():
    """Variances of <noise, M>, |M| = 1, over 4,000 draws: within 5 of their deviations."""
    d, n, s, draws = 3, 10, 2.0, 4000
    draw = np.random.default_rng(3)
    noise = np.stack([pca.gaussian(np.zeros((d, d)), n, s, draw) for _ in range(draws)])
    assert (noise == noise.transpose(0, 2, 1)).all()
    sigma = s * math.sqrt(2) / n
    x, y = np.eye(3)[:2]
    for m in (np.outer(x, x), (np.outer(x, y) + np.outer(y, x)) / math.sqrt(2), np.eye(3) / 3**0.5):
        found = np.var((noise * m).sum(axis=(1, 2)))
        assert abs(found / sigma**2 - 1) < 5 * math.sqrt(2 / draws)


def test_the_log_ratio_of_gaussian_noise_is_that_of_a_gaussian_mechanism():
    """Around D' it is mu^2/2, around D -mu^2/2, with mu = 1/s for what moves most."""
    n, s = 10, 2.0
    x, y = np.eye(4)[:2]
    a, other = np.outer(x, x) / n, np.outer(y, y) / n
    half = 1 / (2 * s**2)
    assert pca.log_ratio(other, a, other, n, s) == pytest.approx(half)
    assert pca.log_ratio(a, a, other, n, s) == pytest.approx(-half)


def test_components_are_the_directions_of_the_largest_eigenvalues():
    draw = np.random.default_rng(4)
    basis = np.linalg.qr(draw.normal(size=(5, 5)))[0]
    a = basis @ np.diag([5, 4, 3, 2, 1.0]) @ basis.T
    found = pca.components(a, 2)
    assert found.T @ found == pytest.approx(np.eye(2))
    assert np.abs(np.sum(found * basis[:, :2], axis=0)) == pytest.approx([1, 1])
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] > 0).all()


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda a, draw: pca.wishart(a, 5, 0.0, draw), ("not-positive", None, 0.0)),
        (
            lambda a, draw: pca.gaussian(a, 5, -1.0, draw),
            ("not-positive", None, -1.0),
        ),
        (lambda a, draw: pca.components(a, 4), ("too-large", "latent", 4)),
    ],
)
def test_what_cannot_be_is_refused(call, refusal):
    with refuses(*refusal):
        call(np.eye(3), np.random.default_rng(0))
