"""The paper's networks against torch and against loops over records."""

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
    np.testing.assert_array_equal(NETWORK.classified(flat, X), outputs.argmax(axis=1))


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
