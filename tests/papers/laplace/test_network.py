"""Networks against torch and against loops over records, and ranges that hold for every record."""

import numpy as np
import pytest
import torch

from dpaudit.papers.laplace.network import Network

NETWORK = Network.of(inputs=5, hidden=3, width=4, classes=3)
DRAW = np.random.default_rng(0)
X, Y = DRAW.uniform(size=(7, 5)), DRAW.integers(3, size=7)


@pytest.fixture
def flat():
    return NETWORK.initial(1) + 0.1 * np.random.default_rng(1).normal(size=NETWORK.parameters)


def by_torch(flat):
    """The gradient of the summed cross-entropy."""
    parameters = torch.tensor(flat, requires_grad=True)
    y, layers = torch.tensor(X), NETWORK.layers(parameters)
    for depth, (w, b) in enumerate(layers, start=1):
        y = y @ w + b
        y = y if depth == len(layers) else torch.relu(y)
    torch.nn.functional.cross_entropy(y, torch.tensor(Y), reduction="sum").backward()
    return parameters.grad.numpy(), torch.softmax(y, dim=1).detach().numpy()


def test_gradients_and_outputs_are_those_of_torch(flat):
    gradient, outputs = by_torch(flat)
    np.testing.assert_allclose(NETWORK.gradient_sum(flat, X, Y), gradient, atol=1e-12)
    np.testing.assert_allclose(NETWORK.outputs(flat, X)[-1], outputs, atol=1e-12)
    np.testing.assert_array_equal(NETWORK.classify(flat, X), outputs.argmax(axis=1))


def test_parameters_are_flat_and_layers_are_views_of_them(flat):
    assert NETWORK.parameters == len(flat) == 6 * 4 + 2 * 5 * 4 + 5 * 3
    np.testing.assert_array_equal(NETWORK.flat(NETWORK.layers(flat)), flat)
    assert NETWORK.is_bias.sum() == 3 * 4 + 3
    assert (NETWORK.initial(1)[NETWORK.is_bias] == 0).all()


def test_each_record_is_clipped_before_they_are_added_up(flat):
    low, high = np.full(len(flat), -0.02), np.full(len(flat), 0.05)
    each = [NETWORK.gradient_sum(flat, X[[i]], Y[[i]]) for i in range(len(Y))]
    expected = np.clip(each, low, high).sum(axis=0)
    np.testing.assert_allclose(NETWORK.clipped_sum(flat, X, Y, low, high), expected, atol=1e-12)
    free = np.full(len(flat), np.inf)
    np.testing.assert_allclose(
        NETWORK.clipped_sum(flat, X, Y, -free, free), np.sum(each, axis=0), atol=1e-12
    )


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
