"""What the tests of private learners share: rows, and generators as trials have them."""

import numpy as np
import pytest

from dpaudit.papers.ensemble.unit_rows import Rows, normalise_rows


@pytest.fixture
def made():
    """Points on a sphere that a plane separates."""

    def make(n, d, seed=0):
        x = normalise_rows(np.random.default_rng(seed).standard_normal((n, d)))
        return Rows(x, np.where(x[:, 0] > 0, 1, -1))

    return make


@pytest.fixture
def draws():
    def make(number, seed=0):
        return [np.random.default_rng([seed, i]) for i in range(number)]

    return make
