"""What the paper prints, against what is true: its misprints are what they are said to be."""

import numpy as np
import pytest
from scipy.stats import laplace

from dpaudit.papers.laplace.network import Network
from reproductions.laplace import printed

DRAW = np.random.default_rng(0)


def test_lemma_1_as_printed_releases_a_constant():
    seen = printed.lemma_1(DRAW.uniform(-1, 1, 1000), -1.0, 1.0, 2.0, DRAW)
    assert set(seen.tolist()) == {-1.0}


def test_the_printed_mass_is_no_mass():
    assert printed.upper_mass(0.3, 1.0, 2.0) == pytest.approx(0.7095, abs=1e-4)
    assert laplace.sf(1.0, 0.3, 2.0) == pytest.approx(0.3523, abs=1e-4)


def test_the_printed_update_has_no_lower_limit_and_is_about_the_weight():
    w = np.full(5000, 0.7)
    assert (printed.anonymized_update(w, 0.1, 0.2, DRAW) <= 0.1).all()
    assert printed.anonymized_update(w, 0.1, 0.2, DRAW).min() < -0.1
    # The median of 5,000 is within 0.02 of the middle but with a probability below 1e-6.
    assert np.median(printed.anonymized_update(w, 9.0, 0.2, DRAW)) == pytest.approx(0.7, abs=0.02)


def test_the_product_of_sums_is_not_the_sum_of_products():
    y, delta = DRAW.uniform(size=(50, 3)), DRAW.normal(size=(50, 2))
    right = sum(np.outer(a, b) for a, b in zip(y, delta, strict=True))
    assert not np.allclose(printed.product_of_sums(y, delta), right)
    assert np.allclose(printed.product_of_sums(y[:1], delta[:1]), np.outer(y[0], delta[0]))


def test_the_printed_ranges_of_inputs_hold_unless_a_node_is_shut():
    network = Network.of(inputs=3, hidden=2, width=4, classes=2)
    flat = network.initial(0)
    x = DRAW.uniform(size=(500, 3))
    into = x
    for (w, b), (low, high) in zip(
        network.layers(flat), printed.input_ranges(network, flat), strict=True
    ):
        inputs = into @ w + b
        assert (inputs >= low - 1e-9).all()
        assert (inputs <= high + 1e-9).all()
        into = np.maximum(inputs, 0)
    shut = Network((1, 1, 2))
    flat = shut.flat([(np.ones((1, 1)), np.array([-9.0])), (np.ones((1, 2)), np.zeros(2))])
    low, high = printed.input_ranges(shut, flat)[1]
    assert (high < 0).all()  # although the output is 0, and so is every input after it
