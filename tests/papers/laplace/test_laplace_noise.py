"""Clamped Laplace noise: its law, and what many of them leak together."""

import math

import numpy as np
import pytest
from chance import count_is
from scipy.stats import laplace

from dpaudit.papers.laplace.noise import joint_epsilon, log_likelihood_ratio, release

LOW, HIGH = -1.0, 1.0


def density(r, f, b):
    """Of one released number, or its mass at a limit."""
    if r <= LOW:
        return laplace.cdf(LOW, f, b)
    return laplace.sf(HIGH, f, b) if r >= HIGH else laplace.pdf(r, f, b)


def test_released_numbers_have_the_masses_of_the_noise_beyond_their_limits():
    n, b = 20_000, 2.0
    draw = np.random.default_rng(1)
    seen = release(np.full(n, 0.3), LOW, HIGH, np.full(n, b), draw)
    assert count_is(int((seen == LOW).sum()), n, laplace.cdf(LOW, 0.3, b))
    assert count_is(int((seen == HIGH).sum()), n, laplace.sf(HIGH, 0.3, b))
    below = (laplace.cdf(0.0, 0.3, b), int((seen <= 0.0).sum()))
    assert count_is(below[1], n, below[0])


def test_the_ratio_is_that_of_the_joint_density():
    draw = np.random.default_rng(2)
    out, inn = draw.uniform(LOW, HIGH, (2, 6))
    b = draw.uniform(0.5, 3, 6)
    seen = release(np.tile(inn, (200, 1)), LOW, HIGH, b, draw)
    assert {LOW, HIGH} <= set(seen.ravel().tolist())
    expected = [
        sum(
            math.log(density(r, g, s) / density(r, f, s))
            for r, f, g, s in zip(row, out, inn, b, strict=True)
        )
        for row in seen
    ]
    np.testing.assert_allclose(log_likelihood_ratio(seen, out, inn, LOW, HIGH, b), expected)


def test_no_ratio_exceeds_the_joint_epsilon_and_some_reach_it():
    draw = np.random.default_rng(3)
    out, inn = np.array([-0.5, 0.2]), np.array([0.5, -0.3])
    b = np.full(2, 2.0)
    seen = release(np.tile(inn, (500, 1)), LOW, HIGH, b, draw)
    ratios = log_likelihood_ratio(seen, out, inn, LOW, HIGH, b)
    assert joint_epsilon(out, inn, b) == pytest.approx(0.75)
    assert np.abs(ratios).max() == pytest.approx(0.75)


def test_a_number_without_noise_that_both_worlds_share_says_nothing():
    one = np.array([0.5])
    assert log_likelihood_ratio(one, one, one, one, one, np.zeros(1)) == 0
    assert joint_epsilon(one, one, np.zeros(1)) == 0
    assert joint_epsilon(one, one + 1, np.zeros(1)) == math.inf
