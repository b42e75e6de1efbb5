"""DP-PCA: its noise, what the published one gives away, and points in the unit ball."""

import math

import numpy as np
import pytest
from refusals import refuses
from settings import change

from dpaudit.papers.p3gm import Architecture, em, pca
from dpaudit.papers.p3gm.design import AdamRecipe, FirstReleases, GeneratorRecipe
from dpaudit.papers.p3gm.generator import with_labels
from dpaudit.papers.p3gm.pca import fit_first_phase, inside, outside
from dpaudit.types import Records

DESIGN = GeneratorRecipe(
    Architecture("p3gm", 3, 5), FirstReleases(2, 1), AdamRecipe(1, 0.5, 30, lr=0.1), 2.0, centre=0.5
)
OWN = change(DESIGN, label_length=0.5)


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


def rows(n=60, seed=0):
    draw = np.random.default_rng(seed)
    return with_labels(Records(draw.random((n, 6)), np.arange(n) % 2), 2)


@pytest.mark.parametrize("design", [DESIGN, OWN], ids=["projected", "own"])
def test_what_was_not_cut_comes_back(design):
    x = rows()
    points = inside(design, x, 2)
    assert outside(design, points, 2) == pytest.approx(x)


@pytest.mark.parametrize("design", [DESIGN, OWN], ids=["projected", "own"])
def test_whatever_the_records_they_and_their_projections_are_in_the_unit_ball(design):
    far = with_labels(Records(1000 * rows()[:, :6] - 500, np.arange(60) % 2), 2)
    points = inside(design, far, 2)
    assert (np.linalg.norm(points, axis=1) <= 1 + 1e-12).all()
    projection, _ = fit_first_phase(change(design, pca_noise=2.0, em_noise=2.0), far, 2, seed=0)
    assert projection.T @ projection == pytest.approx(np.eye(projection.shape[1]))
    assert projection.shape[1] == design.width(2)
    assert (np.linalg.norm(points @ projection, axis=1) <= 1 + 1e-12).all()


def test_features_of_unit_length_have_the_noise_of_dp_pca_alone():
    """Labels of another length leave the directions of features as they are."""
    noisy = change(OWN, pca_noise=2.0)
    one, two = (
        fit_first_phase(change(noisy, label_length=w), rows(), 2, seed=0)[0][:6, :3]
        for w in (0.5, 3.0)
    )
    assert one == pytest.approx(two)


def test_one_iteration_fits_a_gaussian_to_each_label():
    x = rows()
    projection, mixture = fit_first_phase(OWN, x, 2, seed=0)
    z = inside(OWN, x, 2) @ projection
    for label in (0, 1):
        own = z[np.arange(60) % 2 == label]
        assert mixture.means[label] == pytest.approx(own.mean(axis=0), abs=1e-3)
        wanted = np.maximum(own.var(axis=0), em.LEAST_VARIANCE)
        assert mixture.variances[label] == pytest.approx(wanted, abs=1e-3)


def test_every_label_needs_a_component():
    with refuses("too-small", "components", 1):
        fit_first_phase(change(OWN, components=1), rows(), 2, seed=0)
    start = em.start_at_labels(6, 2, 3, 0.4, np.random.default_rng(0))
    assert start.means[:, 2:].argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    assert np.unique(start.means[:, 0]).size == 6
