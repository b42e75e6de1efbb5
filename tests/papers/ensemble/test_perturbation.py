"""How much noise there is, and that no neighbouring data are told apart by more than is claimed."""

import math
from itertools import pairwise

import numpy as np
import pytest
from chance import mean_is
from scipy.integrate import quad

from dpaudit.errors import BadInput
from dpaudit.papers.ensemble.logistic_regression import (
    C,
    ObjectiveNoise,
    ObjectivePerturbation,
    OutputPerturbation,
    minimise,
    sigmoid_sum,
    spherical,
)
from dpaudit.papers.ensemble.unit_rows import Rows


@pytest.mark.parametrize(
    ("epsilon", "n", "lam", "left", "added"),
    [
        (1.0, 50, 0.1, 1 - 2 * math.log(1.05), 0.0),
        (0.5, 50, 0.01, 0.25, 0.25 / (50 * math.expm1(0.125)) - 0.01),
        (1.0, 50, 0.01, 0.1890698, 0.0),
        (0.1, 50, 0.1, 0.0024197, 0.0),
        (4.0, 200, 0.005, 4 - 2 * math.log(1.25), 0.0),
    ],
)
def test_noise_is_what_the_jacobian_leaves_of_epsilon(epsilon, n, lam, left, added):
    noise = ObjectiveNoise.of(epsilon, n, lam)
    assert noise.epsilon == pytest.approx(left, abs=1e-6)
    assert noise.added == pytest.approx(added, abs=1e-12)


def test_below_the_switch_the_jacobian_has_exactly_half_of_epsilon():
    for epsilon in (0.01, 0.3, 0.81):
        noise = ObjectiveNoise.of(epsilon, 50, 0.01)
        assert noise.epsilon == epsilon / 2
        assert noise.added > 0
        share = 2 * math.log1p(C / (50 * (0.01 + noise.added)))
        assert share == pytest.approx(epsilon / 2)
    assert ObjectiveNoise.of(0.82, 50, 0.01).added == 0


def test_a_larger_epsilon_may_have_more_noise():
    """The switch is at 2 ln 1.5 = .811: the left over part of epsilon starts from 0 there."""
    assert ObjectiveNoise.of(1.0, 50, 0.01).epsilon < ObjectiveNoise.of(0.5, 50, 0.01).epsilon


@pytest.mark.parametrize(
    "given", [(0.0, 50, 0.1), (1.0, 0, 0.1), (1.0, 50, 0.0), (math.nan, 50, 0.1)]
)
def test_what_cannot_be_is_refused(given):
    with pytest.raises(BadInput):
        ObjectiveNoise.of(*given)


@pytest.mark.parametrize("d", [1, 2, 10])
def test_noise_has_gamma_norms_and_no_direction(draws, d):
    b = spherical(2.0, d, draws(4000))
    norms = np.linalg.norm(b, axis=1)
    assert mean_is(norms, d / 2, math.sqrt(d) / 2)
    assert mean_is(norms**2, d * (d + 1) / 4, math.sqrt(d * (d + 1) * (4 * d + 6)) / 4)
    directions = b / norms[:, None]
    assert all(mean_is(directions[:, j], 0, math.sqrt(1 / d)) for j in range(d))


@pytest.mark.parametrize(("epsilon", "lam"), [(1.0, 0.1), (0.5, 0.01)])
def test_noise_and_learner_determine_each_other(made, draws, epsilon, lam):
    rows, learner = made(50, 4), ObjectivePerturbation(epsilon, lam)
    noise = learner.noise(50)
    b = learner.draw(noise.epsilon / 2, 4, draws(5))
    w = learner.release(rows, draws(5))
    again = sigmoid_sum(rows, w) - 50 * (lam + noise.added) * w
    np.testing.assert_allclose(again, b, atol=1e-6 * np.abs(b).max())


def flip(rows):
    return Rows(rows.x, np.concatenate([-rows.y[:1], rows.y[1:]]))


def other(rows, seed):
    """The same rows but the first, which is any of norm 1."""
    draw = np.random.default_rng(seed)
    x, y = rows.x.copy(), rows.y.copy()
    x[0] = draw.standard_normal(rows.features)
    x[0] /= np.linalg.norm(x[0])
    y[0] = draw.choice([-1, 1])
    return Rows(x, y)


@pytest.mark.parametrize(("epsilon", "lam"), [(1.0, 0.1), (0.5, 0.01), (3.0, 0.02)])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_the_ratio_is_that_of_two_densities(made, epsilon, lam, kind):
    """In one dimension: the density that is known of D, times the ratio, adds up to 1 as well."""
    rows = made(20, 1)
    neighbour, learner = other(rows, 1), kind(epsilon, lam)

    def density(w):
        if kind is OutputPerturbation:
            rate = learner.rate(20)
            return rate / 2 * math.exp(-rate * abs(w - minimise(rows, lam)[0]))
        noise = learner.noise(20)
        total, slope = 0.0, 20 * (lam + noise.added)
        for (x,), y in zip(rows.x, rows.y, strict=True):
            s = 1 / (1 + math.exp(y * w * x))
            total, slope = total + y * s * x, slope + s * (1 - s) * x * x
        b = total - 20 * (lam + noise.added) * w
        return noise.epsilon / 4 * math.exp(-noise.epsilon / 2 * abs(b)) * slope

    def there(w):
        return density(w) * math.exp(learner.log_ratio(np.array([[w]]), rows, neighbour)[0])

    ends = [-400, -5, 0, minimise(rows, lam)[0], minimise(neighbour, lam)[0], 5, 400]
    ends = sorted(ends)
    for each in (density, there):
        parts = [quad(each, a, b, limit=200)[0] for a, b in pairwise(ends)]
        assert sum(parts) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("epsilon", "lam"), [(0.3, 0.01), (1.0, 0.1), (4.0, 0.005), (8.0, 0.05)])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_no_learner_is_likelier_than_epsilon_allows(made, epsilon, lam, kind):
    """Both branches; wherever a learner may lie, and not only where it is likely."""
    learner, draw = kind(epsilon, lam), np.random.default_rng(0)
    for seed in range(20):
        rows = made(20, 3, seed)
        w = draw.standard_normal((200, 3)) * draw.choice([0.1, 1, 10, 100], (200, 1))
        assert np.abs(learner.log_ratio(w, rows, other(rows, seed))).max() <= epsilon * (1 + 1e-9)


def test_who_flips_a_label_shows_at_most_half_of_what_the_noise_hides(made, draws):
    for epsilon, lam in ((1.0, 0.1), (0.5, 0.01), (4.0, 0.01)):
        rows, learner = made(50, 2), ObjectivePerturbation(epsilon, lam)
        most = learner.noise(50).epsilon / 2
        ratio = learner.log_ratio(learner.release(rows, draws(500)), rows, flip(rows))
        assert most * 0.9 < np.abs(ratio).max() <= most * (1 + 1e-9)


def test_a_minimum_without_noise_moves_no_further_than_its_noise_hides(made):
    for seed in range(20):
        rows = made(30, 3, seed)
        moved = np.linalg.norm(minimise(rows, 0.02) - minimise(other(rows, seed), 0.02))
        assert moved <= 2 / (30 * 0.02)


def test_output_perturbation_is_the_minimum_and_noise(made, draws):
    rows, learner = made(50, 3), OutputPerturbation(2.0, 0.1)
    assert learner.rate(50) == pytest.approx(5)
    away = np.linalg.norm(learner.release(rows, draws(3000)) - minimise(rows, 0.1), axis=1)
    assert mean_is(away, 3 / 5, math.sqrt(3) / 5)
