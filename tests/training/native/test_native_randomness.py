"""Coins, dropout and noise: each of the right law, from the seed alone, and never shifted.

Seeds are fixed; in brackets stands with what probability each test would fail under other seeds
although all is well.
"""

import ctypes
import signal

import numpy as np
import pytest
import torch
from chance import A, count_is, mean_is, spread_is
from compiled import compiled
from scipy.stats import kstest, norm
from sequences import NARROWER, ODD, flat, job, moved, named, odd, records, relative
from torch import nn

from dpaudit.training import native, predict
from dpaudit.training.job import GradientCanaries
from dpaudit.training.native import compiler
from dpaudit.training.native.library import library
from dpaudit.training.native.plan import plan

# Even kernels with padding "same" are tested here, and torch warns that it copies their input.
EVEN = pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")
pytestmark = [compiled, EVEN]

NEVER = 1e-12
"""A sampling rate at which no coin of 32 bits falls."""


def noise(name, seeds, steps=1):
    """Standard normal numbers, if all is well: what moves the weights when no record does."""
    model, shape = named(name)
    x, y = records(shape, 3)
    how = {"sample_rate": NEVER, "steps": steps, "noise_multiplier": 1.5, "clip": 2.0}
    torch.nn.utils.vector_to_parameters(torch.zeros(len(flat(model))), model.parameters())
    return np.array([moved(model, x, y, seed=s, **how) for s in seeds]) / -3.0


# ---------------------------------------------------------------- the generator


def test_the_generator_is_threefry():
    """The known answer of its authors for a counter and a key of zeros."""
    model, shape = named("logreg")
    words = np.zeros(4 * 16, np.uint32)
    kernel = library(plan(model, shape), compiler.FLAGS)
    kernel.c.threefry_blocks(0, 0, 0, words.ctypes.data_as(ctypes.c_void_p))
    assert [f"{word:08x}" for word in words[::16]] == [
        "9c6ca96a",
        "e17eae66",
        "fc10ecd4",
        "5256a7d8",
    ]


# ---------------------------------------------------------------- noise


def test_noise_of_a_step_is_standard_normal():
    """Mean, variance, skewness, kurtosis, shape and tails of 1.4 million numbers [2.1e-4]."""
    z = noise("cnn-small", range(100)).astype(float).ravel()
    assert mean_is(z, 0.0, 1.0)
    assert spread_is(z, 1.0)
    assert mean_is(z**3, 0.0, np.sqrt(15))
    assert mean_is(z**4, 3.0, np.sqrt(96))
    assert kstest(z, "norm").pvalue > A
    for far in (3.0, 4.0, 4.5):
        assert count_is((z > far).sum(), z.size, norm.sf(far))
        assert count_is((z < -far).sum(), z.size, norm.sf(far))


def test_noise_is_fresh_for_every_coordinate_seed_and_step():
    """No two coordinates, seeds (low bits or high) or steps go together [3.8e-4]."""
    seeds = [s + high for s in range(25) for high in (0, 2**32, 2**62)]
    z = noise("cnn-small", seeds).astype(float)
    for lag in (1, 2, 8, 16, 32, 64, 1000):
        assert mean_is(z[:, lag:] * z[:, :-lag], 0.0, 1.0)
        # Each square is in two products: the variance of their mean is 8 + 2 * 2 over n.
        assert mean_is(z[:, lag:] ** 2 * z[:, :-lag] ** 2, 1.0, np.sqrt(12))
    for lag in (1, 2, 3):
        assert mean_is(z[lag:] * z[:-lag], 0.0, 1.0)
    two = noise("cnn-small", seeds, steps=2)
    second = two - z
    assert spread_is(second, 1.0)
    assert mean_is(second * z, 0.0, 1.0)


def test_an_empty_batch_adds_noise_of_the_right_size_at_every_step():
    """Steps add up [2e-5]."""
    assert spread_is(noise("logreg", range(20), steps=9), 3.0)


# ---------------------------------------------------------------- sampling


def batches(q, seeds, steps=1):
    """Which of 64 records are sampled: each has a pixel, and so a weight, of its own."""
    model, shape = named("logreg", dropout=0.0)
    x, y = torch.eye(64).view(64, *shape), torch.arange(64) % 10
    moves = [moved(model, x, y, sample_rate=q, seed=s, steps=steps) for s in seeds]
    return np.array([np.abs(move[:640].reshape(10, 64)).sum(axis=0) > 0 for move in moves])


@pytest.mark.parametrize("q", [0.03, 0.25, 0.9])
def test_batches_are_poisson_samples(q):
    """Rate q, the same for every record, independent of the others [6e-5]."""
    taken = batches(q, range(400))
    assert count_is(taken.sum(), taken.size, q)
    deviation = np.sqrt(q * (1 - q))
    assert spread_is((taken - q).sum(axis=0), deviation * np.sqrt(len(taken)))
    assert spread_is((taken - q).sum(axis=1), deviation * 8)


def test_each_step_has_coins_of_its_own():
    """After two steps, all but (1-q)^2 of the records were sampled [2e-5]."""
    q, taken = 0.25, batches(0.25, range(400), steps=2)
    assert count_is(taken.sum(), taken.size, 1 - (1 - q) ** 2)


def test_a_record_at_the_end_shifts_nothing():
    """Where its coin never falls, the weights are the same to the last bit [2e-5]."""
    model, shape = named("cnn-small")
    x, y = records(shape, 101)
    q, steps, seeds = 0.1, 3, 60
    how = {"sample_rate": q, "steps": steps, "noise_multiplier": 1.0, "clip": 1.0}
    same = 0
    for seed in range(seeds):
        out = moved(model, x[:-1], y[:-1], seed=seed, **how)
        same += np.array_equal(out, moved(model, x, y, seed=seed, **how))
    assert count_is(same, seeds, (1 - q) ** steps)


# ---------------------------------------------------------------- dropout


def masks(p, seeds):
    """Which pixels of two records dropout keeps, times its scale: (seeds, 2, 64).

    At weights of zero the gradient of class c's weights is (1/10 - [label = c]) times the pixel.
    """
    model, shape = named("logreg", dropout=p)
    torch.nn.utils.vector_to_parameters(torch.zeros(650), model.parameters())
    x, y = torch.ones(2, *shape), torch.tensor([0, 1])
    g = -np.array([moved(model, x, y, seed=s)[:128].reshape(2, 64) for s in seeds])
    return np.linalg.inv(0.1 - np.eye(2)) @ g


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_dropout_keeps_each_value_with_its_rate_and_scales_it(p):
    """Independent between pixels and records [6e-5]."""
    drawn = masks(p, range(300))
    kept = drawn > 0.5
    exact = round(p * 2**16) / 2**16  # the rate that 16 bits can have
    np.testing.assert_allclose(drawn[kept], 1 / (1 - exact), rtol=1e-5)
    np.testing.assert_allclose(drawn[~kept], 0, atol=1e-5)
    assert count_is(kept.sum(), kept.size, 1 - p)
    centred, variance = kept - (1 - p), p * (1 - p)
    if p:
        assert mean_is(centred[:, 0] * centred[:, 1], 0.0, variance)
        assert mean_is(centred[:, :, 1:] * centred[:, :, :-1], 0.0, variance)


@pytest.mark.parametrize("name", ["cnn-small", "odd"])
@NARROWER
def test_another_vector_width_draws_the_same(name, monkeypatch):
    """Coins, dropout and noise: weights agree but for the order of sums."""
    model, shape = odd(next(iter(ODD))) if name == "odd" else named(name)
    x, y = records(shape, 50, classes=3)
    how = {"sample_rate": 0.5, "steps": 3, "clip": 1.0, "noise_multiplier": 1.0, "seed": 2**62 + 1}
    wide, seen = moved(model, x, y, **how), native.mc_dropout(model, x[:2].numpy(), 40, 3)
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-mno-avx512f"))
    assert relative(moved(model, x, y, **how), wide) < 1e-5
    np.testing.assert_allclose(native.mc_dropout(model, x[:2].numpy(), 40, 3), seen, rtol=1e-4)


def test_dropout_is_fresh_at_every_step():
    model, shape = named("cnn-small")
    x, y = records(shape, 4)
    one, two = (moved(model, x, y, steps=s, rate_per_sum=1e-6) for s in (1, 2))
    assert not np.allclose(two, 2 * one, rtol=1e-2, atol=0)


@pytest.mark.parametrize("name", ["cnn-small", "cnn-small 28 x 28", "mlp", "logreg"])
def test_mc_dropout_has_the_law_of_torchs(name):
    """Mean and spread of each class's probability on two records [8e-4]."""
    model, shape = named(name)
    with torch.no_grad():
        for p in model.parameters():
            p *= 2  # so that dropout matters
    x, T = records(shape, 2)[0].numpy(), 1500
    ours, torchs = native.mc_dropout(model, x, T, 5), predict.mc_dropout(model, x, T, 5)
    assert ours.shape == torchs.shape == (T, 2, 10)
    np.testing.assert_allclose(ours.sum(axis=2), 1, rtol=1e-5)
    for moment in (lambda p: p, lambda p: (p - p.mean(axis=0)) ** 2):
        one, other = moment(ours), moment(torchs)
        error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / T)
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < norm.isf(A) * error).all()


def test_mc_dropout_is_fresh_for_every_pass_record_and_seed():
    model, shape = named("cnn-small")
    x = records(shape, 1)[0].numpy().repeat(2, axis=0)
    one, again, other = (native.mc_dropout(model, x, 100, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    rows = np.concatenate([one, other]).reshape(400, -1)
    assert len(np.unique(rows, axis=0)) == 400


def test_mc_dropout_without_dropout_is_the_softmax():
    model, shape = named("cnn-small", dropout=0.0)
    x = records(shape, 40)[0].numpy()
    expected = torch.softmax(torch.as_tensor(predict.logits(model, x)), dim=1).numpy()
    for row in native.mc_dropout(model, x, 3, 0):
        np.testing.assert_allclose(row, expected, rtol=1e-5)


# ---------------------------------------------------------------- slices


def test_steps_do_not_know_how_they_are_sliced(monkeypatch):
    model, shape = named("cnn-small")
    x, y = records(shape, 50)
    how = {"sample_rate": 0.3, "steps": 40, "noise_multiplier": 1.0, "clip": 1.0, "seed": 2**63 - 1}
    start = flat(model)
    canaries = GradientCanaries(np.eye(3, len(start)), np.array([True, False, True]))

    def descended():
        nn.utils.vector_to_parameters(torch.from_numpy(start.copy()), model.parameters())
        seen = native.train(job(model, x, y, gradient_canaries=canaries, **how))
        return flat(model), seen.products, seen.background

    whole = descended()
    monkeypatch.setattr(native, "SLICE", 0.0)
    for one, other in zip(whole, descended(), strict=True):
        assert np.array_equal(one, other)


def test_a_long_descent_can_be_interrupted():
    def interrupt(*_):
        raise KeyboardInterrupt

    model, shape = named("logreg")
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            moved(model, *records(shape, 50), steps=10**8)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
