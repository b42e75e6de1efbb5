"""Statistical tests have fixed seeds and would fail by chance with less than 1e-4."""

import numpy as np
import pytest
import torch
from compiled import EVERY
from scipy.stats import binom, norm
from tiny import records
from torch import nn

from dpaudit.outputs import softmax
from dpaudit.training import predict
from dpaudit.training.backends import BACKENDS
from dpaudit.training.networks import build
from dpaudit.training.predict import CHUNK, logits


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build("mlp", (1, 2, 2), classes=3, dropout=0.5)


@pytest.fixture(params=EVERY)
def mc_dropout(request):
    """Of each backend."""
    return BACKENDS[request.param].mc_dropout


X = records(5).x


def test_every_pass_gives_every_record_a_distribution_over_classes(model, mc_dropout):
    seen = mc_dropout(model, X, samples=7, seed=1)
    assert seen.shape == (7, 5, 3)
    assert seen.dtype == np.float32
    assert (seen >= 0).all()
    np.testing.assert_allclose(seen.sum(axis=2), 1, atol=1e-6)


def test_dropout_is_on_with_its_own_probability(mc_dropout):
    """A single pixel that is kept with probability 0.7, and then divided by it."""
    model = build("logreg", (1, 1, 1), classes=2, dropout=0.3)
    nn.utils.vector_to_parameters(torch.tensor([1.0, 0.0, 0.0, 0.0]), model.parameters())
    n = 2000
    seen = mc_dropout(model, np.ones((1, 1, 1, 1), np.float32), samples=n, seed=1)[:, 0, 0]
    kept = np.isclose(seen, 1 / (1 + np.exp(-1 / 0.7)), atol=1e-6)
    assert (kept | np.isclose(seen, 0.5, atol=1e-6)).all()
    assert binom.ppf(1e-5, n, 0.7) < kept.sum() < binom.isf(1e-5, n, 0.7)


def test_passes_are_independent_of_each_other_and_of_other_records(model, mc_dropout):
    n = 2000
    twins = mc_dropout(model, X[[0, 0]], samples=n, seed=2)[:, :, 0]
    z = (twins - twins.mean(axis=0)) / twins.std(axis=0)
    between_passes, between_records = (z[1:, 0] * z[:-1, 0]), (z[:, 0] * z[:, 1])
    for products in (between_passes, between_records):
        assert abs(products.mean()) * np.sqrt(n) < norm.isf(1e-5)


def test_the_seed_alone_decides_the_passes(model, mc_dropout):
    first = mc_dropout(model, X, samples=4, seed=2**62)
    torch.manual_seed(123)
    before = torch.get_rng_state()
    assert np.array_equal(mc_dropout(model, X, samples=4, seed=2**62), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert not np.array_equal(mc_dropout(model, X, samples=4, seed=1), first)


def test_dropout_is_off_again_afterwards(model):
    model.train()
    predict.mc_dropout(model, X, samples=2, seed=1)
    assert not any(module.training for module in model.modules())


def test_only_dropout_is_switched_on():
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 3))
    predict.mc_dropout(model, X, samples=3, seed=1)
    assert model[1].num_batches_tracked == 0


def test_deterministic_logits_do_not_vary(model):
    assert np.array_equal(logits(model.train(), X), logits(model, X))
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize("samples", [3, CHUNK])
def test_without_dropout_every_pass_is_the_deterministic_output_of_its_record(samples, mc_dropout):
    torch.manual_seed(0)
    model = build("mlp", (1, 2, 2), classes=3, dropout=0.0)
    expected = softmax(logits(model, X))
    seen = mc_dropout(model, X, samples=samples, seed=1)
    np.testing.assert_allclose(seen, np.tile(expected, (samples, 1, 1)), atol=1e-6)


def test_more_records_than_a_chunk_come_back_in_their_order(model):
    x = records(CHUNK + 3).x
    whole = logits(model, x)
    assert whole.shape == (CHUNK + 3, 3)
    np.testing.assert_allclose(whole[[0, CHUNK, -1]], logits(model, x[[0, CHUNK, -1]]), atol=1e-6)
