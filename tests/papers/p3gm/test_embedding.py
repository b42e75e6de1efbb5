"""Where records lie: within the unit ball, on orthonormal directions, and back again."""

import numpy as np
import pytest
from refusals import refuses
from settings import changed

from dpaudit.papers.p3gm import Architecture, Design, FirstReleases, Steps, em
from dpaudit.papers.p3gm.generator import with_labels
from dpaudit.papers.p3gm.pca import fit_first_phase, inside, outside
from dpaudit.types import Records

DESIGN = Design(
    Architecture("p3gm", 3, 5), FirstReleases(2, 1), Steps(1, 0.5, 30, lr=0.1), 2.0, centre=0.5
)
OWN = changed(DESIGN, label_length=0.5)


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
    projection, _ = fit_first_phase(changed(design, pca_noise=2.0, em_noise=2.0), far, 2, seed=0)
    assert projection.T @ projection == pytest.approx(np.eye(projection.shape[1]))
    assert projection.shape[1] == design.width(2)
    assert (np.linalg.norm(points @ projection, axis=1) <= 1 + 1e-12).all()


def test_features_of_unit_length_have_the_noise_of_dp_pca_alone():
    """Labels of another length leave the directions of features as they are."""
    noisy = changed(OWN, pca_noise=2.0)
    one, two = (
        fit_first_phase(changed(noisy, label_length=w), rows(), 2, seed=0)[0][:6, :3]
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
        fit_first_phase(changed(OWN, components=1), rows(), 2, seed=0)
    start = em.start_at_labels(6, 2, 3, 0.4, np.random.default_rng(0))
    assert start.means[:, 2:].argmax(axis=1).tolist() == [0, 1, 2, 0, 1, 2]
    assert np.unique(start.means[:, 0]).size == 6
