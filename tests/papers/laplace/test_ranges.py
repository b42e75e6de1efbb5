"""Ranges hold for every record that there could be, and are reached by some."""

import numpy as np
import pytest

from dpaudit.papers.laplace.network import Network


@pytest.mark.parametrize("seed", range(8))
def test_no_record_moves_a_parameter_beyond_its_range(seed):
    draw = np.random.default_rng(seed)
    network = Network.of(inputs=4, hidden=seed % 4, width=5, classes=3)
    flat = draw.normal(0, 1.5, network.parameters)
    low, high = network.ranges(flat)
    corners = (np.arange(16)[:, None] >> np.arange(4)) & 1
    records = np.concatenate([corners, draw.uniform(size=(300, 4))])
    for x in records:
        for y in range(3):
            moved = network.gradient_sum(flat, x[None], np.array([y]))
            assert (moved >= low - 1e-9).all()
            assert (moved <= high + 1e-9).all()
    assert (low <= 0).all()
    assert (high >= 0).all()


def test_without_hidden_layers_the_range_is_what_the_ends_can_be():
    network = Network.of(inputs=3, hidden=0, width=1, classes=2)
    low, high = network.ranges(np.random.default_rng(0).normal(size=network.parameters))
    np.testing.assert_array_equal(low, -np.ones(8))
    np.testing.assert_array_equal(high, np.ones(8))


def test_a_node_that_no_input_opens_moves_nothing_after_it():
    network = Network((2, 1, 2))
    flat = network.flat([(np.ones((2, 1)), np.array([-9.0])), (np.ones((1, 2)), np.zeros(2))])
    low, high = network.ranges(flat)
    after = network.layers(low)[1][0], network.layers(high)[1][0]
    np.testing.assert_array_equal(after, np.zeros((2, 1, 2)))
