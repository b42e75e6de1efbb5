"""What is seen of gradient canaries, in every backend.

Statistical tests have fixed seeds; in brackets stands with what probability each would fail
under another seed although all is well.
"""

from itertools import combinations

import numpy as np
import pytest
import torch
from chance import A, count_is, mean_is, spread_is
from compiled import EVERY
from scipy.stats import kstest
from settings import change
from tiny import PARAMETERS, clipped_gradients, recipe, records, weights
from torch import nn

from dpaudit.training import dpsgd, networks
from dpaudit.training.job import GradientCanaries

EACH = pytest.mark.parametrize("backend", EVERY)

NOISY = recipe(batch=3, steps=200, lr=0.05, noise_multiplier=0.5, clip=0.6)
RATE, RECORDS = 0.5, 6
"""Of `NOISY` on so many records."""

AXES = np.eye(PARAMETERS)
"""One-hot directions, one for each parameter: together they show all of a step."""


def fit(backend, directions, inserted, how=NOISY, sample=None, always=False, **more):
    """A training with gradient canaries by one of the backends."""
    inserted = np.broadcast_to(inserted, len(directions))
    return dpsgd.fit(
        change(how, backend=backend),
        records(RECORDS) if sample is None else sample,
        seed=6,
        gradient_canaries=GradientCanaries(directions, inserted, always),
        **more,
    )


def directions(m, parameters=PARAMETERS):
    g = np.random.default_rng(0).normal(size=(m, parameters))
    return g / np.linalg.norm(g, axis=1, keepdims=True)


def coins(backend, **more):
    """Which axes are in each step: the noise is the same whether they are inserted or not."""
    inn, out = (fit(backend, AXES, inserted, **more) for inserted in (True, False))
    added = (inn.products - inn.background) - (out.products - out.background)
    np.testing.assert_allclose(added, added.round(), atol=1e-5)
    return added.round()


def batches(fitted, start, how=NOISY):
    """Which records are in each step, from the background along all axes, and the last weights.

    By the obvious way: the background must be the sum of some of the clipped gradients.
    """
    sample, theta, taken = records(RECORDS), start.astype(float), []
    model = networks.build("logreg", how.shape, how.classes, dropout=0.0)
    for u, background in zip(fitted.products, fitted.background, strict=True):
        flat = torch.from_numpy(theta.astype(np.float32))
        nn.utils.vector_to_parameters(flat, model.parameters())
        rows = clipped_gradients(model, sample, how.clip)[0] / how.clip
        there = np.linalg.lstsq(rows.T, background, rcond=None)[0].round()
        np.testing.assert_allclose(there @ rows, background, atol=2e-5)
        taken.append(there)
        theta -= how.training.lr / (RATE * RECORDS) * how.clip * u
    return np.array(taken), theta


# ---------------------------------------------------------------- against brute force


@EACH
@pytest.mark.parametrize("inserted", [True, False])
def test_seen_along_all_axes_a_descent_is_the_one_of_the_brute_force(backend, inserted):
    """Poisson batches of clipped gradients, each of which counts once, and steps along u_t."""
    how, start = change(NOISY, steps=30), np.linspace(-1, 1, PARAMETERS)
    fitted = fit(backend, AXES, inserted, how, initial=start)
    assert fitted.products.shape == fitted.background.shape == (30, PARAMETERS)
    taken, end = batches(fitted, start, how)
    assert set(taken.ravel()) == {0, 1}
    np.testing.assert_allclose(weights(fitted.model), end, atol=1e-5)


@EACH
@pytest.mark.parametrize("clip", [0.5, 1e3])
def test_full_batches_without_noise_are_those_of_the_brute_force(backend, clip):
    """On a network of several layers, along directions that are not orthogonal."""
    shape, n, lr = (1, 8, 8), 12, 0.1
    sample = records(n, shape, classes=10)
    torch.manual_seed(0)
    model = networks.build("cnn-small", shape, classes=10, dropout=0.0)
    theta = weights(model)
    g, inserted = directions(4, len(theta)), np.array([True, False, True, True])
    how = recipe(network="cnn-small", shape=shape, classes=10, lr=lr, clip=clip, epochs=3)
    fitted = fit(backend, g, inserted, how, sample, initial=theta)
    for products, background in zip(fitted.products, fitted.background, strict=True):
        of_records = clipped_gradients(model, sample, clip)[0].sum(axis=0) / clip
        u = of_records + inserted @ g
        np.testing.assert_allclose(background, g @ of_records, atol=1e-5)
        np.testing.assert_allclose(products, g @ u, atol=1e-5)
        theta = (theta - lr / n * clip * u).astype(np.float32)
        nn.utils.vector_to_parameters(torch.from_numpy(theta.copy()), model.parameters())
    np.testing.assert_allclose(weights(fitted.model), theta, atol=max(1e-5, clip * 1e-7))


# ---------------------------------------------------------------- noise


@EACH
@pytest.mark.parametrize("inserted", [True, False])
def test_full_batches_have_gaussian_products_around_one_or_zero(backend, inserted):
    """<u_t, g*> less the background: N(1, s^2) with the canary in, N(0, s^2) without [7e-5]."""
    s = 1.5
    how = recipe(epochs=800, noise_multiplier=s, clip=2.0)
    fitted = fit(backend, directions(1), inserted, how)
    noise = (fitted.products - fitted.background)[:, 0] - inserted
    assert mean_is(noise, 0.0, s)
    assert spread_is(noise, s)
    assert kstest(noise / s, "norm").pvalue > A
    assert mean_is(noise[1:] * noise[:-1], 0.0, s**2)


@EACH
def test_no_canary_shares_its_noise_with_an_orthogonal_one(backend):
    """[3e-4]"""
    fitted = fit(backend, AXES, False)
    noise = (fitted.products - fitted.background) / NOISY.noise_multiplier
    assert spread_is(noise, 1.0)
    for lag in range(1, PARAMETERS):
        assert mean_is(noise[:, lag:] * noise[:, :-lag], 0.0, 1.0)


@EACH
def test_an_empty_batch_shows_its_noise_and_its_canaries(backend):
    fitted = fit(backend, AXES, True, sample=records(0), size=RECORDS, always=True)
    assert not fitted.background.any()
    assert spread_is(fitted.products - 1, NOISY.noise_multiplier)


# ---------------------------------------------------------------- coins


@EACH
def test_coins_are_independent_of_each_other_and_of_the_records(backend):
    """Of rate q for each of 15 canaries and 6 records, at every step anew [5e-3]."""
    start = np.zeros(PARAMETERS)
    of_records, _ = batches(fit(backend, AXES, False, initial=start), start)
    drawn = np.hstack([coins(backend), of_records])
    for column in drawn.T:
        assert count_is(column.sum(), len(drawn), RATE)
    signs = 2 * drawn - 1
    for one, other in combinations(signs.T, 2):
        assert mean_is(one * other, 0.0, 1.0)
    assert mean_is(signs[1:] * signs[:-1], 0.0, 1.0)


@EACH
def test_only_the_inserted_are_ever_there(backend):
    """One of them has no coin in 200 steps with a chance of 1e-60."""
    inserted = np.arange(PARAMETERS) % 3 == 0
    some, none = (fit(backend, AXES, which) for which in (inserted, False))
    added = (some.products - some.background) - (none.products - none.background)
    there = added.round().astype(bool)
    assert np.array_equal(there.any(axis=0), inserted)
    assert np.array_equal(there[:, inserted], coins(backend).astype(bool)[:, inserted])


@EACH
def test_always_inserts_at_every_step_and_the_records_keep_their_coins(backend):
    """[2e-5]"""
    assert (coins(backend, always=True) == 1).all()
    start = np.zeros(PARAMETERS)
    of_records, _ = batches(fit(backend, AXES, True, always=True, initial=start), start)
    assert count_is(of_records.sum(), of_records.size, RATE)


@EACH
@pytest.mark.parametrize("always", [True, False])
def test_a_full_batch_has_every_inserted_canary(backend, always):
    full = recipe(epochs=20, noise_multiplier=0.5)
    assert (coins(backend, how=full, always=always) == 1).all()


@EACH
def test_a_canary_has_the_same_coins_whatever_others_there_are(backend):
    """A thousand, far more than there are records; in the way of nothing if not inserted."""
    one = fit(backend, directions(1000)[:1], True)
    of_many = fit(backend, directions(1000), np.arange(1000) == 0)
    assert of_many.products.shape == (NOISY.training.steps, 1000)
    assert np.array_equal(weights(one.model), weights(of_many.model))
    np.testing.assert_allclose(one.products[:, 0], of_many.products[:, 0], atol=1e-5)


# ---------------------------------------------------------------- who looks changes nothing


@EACH
def test_watching_changes_no_model(backend):
    watched = fit(backend, directions(3), False)
    plain = dpsgd.fit(change(NOISY, backend=backend), records(RECORDS), seed=6)
    assert np.array_equal(weights(watched.model), weights(plain.model))
    assert plain.products is None
    assert plain.background is None


@EACH
def test_directions_of_any_type_and_layout_are_taken_and_left_as_they_were(backend):
    g = directions(4)
    seen = fit(backend, g, True).products
    for alike in (g.astype(np.float32), np.asfortranarray(g), np.repeat(g, 2, axis=1)[:, ::2]):
        before = alike.copy()
        assert np.array_equal(fit(backend, alike, True).products, seen)
        assert np.array_equal(alike, before)
