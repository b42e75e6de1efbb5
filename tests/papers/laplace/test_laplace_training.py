"""Training between limits, and training by noisy updates."""

import math

import numpy as np
import pytest
from refusals import refuses

from dpaudit.papers.laplace.network import Limits, Network
from dpaudit.papers.laplace.training import Anonymized, LaplaceRecipe, Thresholds, Twin, train

DRAW = np.random.default_rng(0)
X = DRAW.uniform(size=(40, 4))
Y = (X.sum(axis=1) > 2).astype(int)
COURSE = LaplaceRecipe(Network.of(4, 1, 5, 2), epochs=3, batch=10, lr=0.5, decay=0.001, seed=7)
WIDE = Limits((-1e6, 1e6), (-1e6, 1e6))
NARROW = Limits((-0.1, 0.2), (-0.3, 0.05))


def test_a_record_is_in_one_batch_of_every_epoch():
    batches = COURSE.batches(43)
    assert [len(b) for b in batches] == [11, 11, 11, 10]
    assert sorted(np.concatenate(batches)) == list(range(43))


def test_a_step_is_that_of_the_paper():
    flat = COURSE.start()
    sums = DRAW.normal(size=len(flat))
    stepped = COURSE.step(flat, sums, 10)
    w, b = COURSE.network.layers(flat)[0]
    dw, db = COURSE.network.layers(sums)[0]
    new_w, new_b = COURSE.network.layers(stepped)[0]
    np.testing.assert_allclose(new_w, w - 0.5 * (dw + 0.001 * w) / 10)
    np.testing.assert_allclose(new_b, b - 0.5 * db / 10)


def test_parameters_stay_between_their_limits_and_learn():
    flat = train(COURSE, X, Y, NARROW)
    low, high = NARROW.of(COURSE.network)
    assert (low <= flat).all()
    assert (flat <= high).all()
    longer = LaplaceRecipe(COURSE.network, 200, 10, 0.5, 0.001, 7)
    assert (COURSE.network.classify(train(longer, X, Y, None), X) == Y).mean() > 0.9


def test_with_hardly_any_noise_it_learns_what_ordinary_training_does():
    quiet = Anonymized(COURSE, WIDE, epsilon=1e9)
    flat, ratios = quiet.train(X, Y, np.random.default_rng(0))
    np.testing.assert_allclose(flat, train(COURSE, X, Y, None), atol=1e-5)
    assert len(ratios) == 0


@pytest.mark.parametrize("clip", ["record", "sum"])
def test_one_record_changes_a_batch_by_no_more_than_the_noise_is_made_for(clip):
    training = Anonymized(COURSE, NARROW, epsilon=1.0, clip=clip)
    flat = DRAW.normal(size=COURSE.network.parameters)
    low, high = training._limits(flat)
    sums = training._sums(flat, X, Y, low, high)
    for i in range(len(Y)):
        x, y = X.copy(), Y.copy()
        x[i], y[i] = DRAW.integers(0, 2, 4), 1 - Y[i]
        changed = np.abs(training._sums(flat, x, y, low, high) - sums)
        assert (changed <= high - low + 1e-12).all()


def test_what_updates_show_is_of_the_batch_that_holds_the_record_and_of_either_sign():
    """The mean of a log-likelihood ratio is positive where it is true; by 5 deviations here."""
    training = Anonymized(COURSE, NARROW, epsilon=20.0)
    other = np.ones(4), 1 - int(Y[3])
    as_in, as_out = [], []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        _, ratios = training.train(X, Y, draw, Twin(3, *other, is_in=True))
        as_out.append(ratios)
        x, y = X.copy(), Y.copy()
        x[3], y[3] = other
        _, ratios = training.train(x, y, draw, Twin(3, X[3], int(Y[3]), is_in=False))
        as_in.append(ratios)
    assert np.shape(as_in) == (60, 3)
    for found, sign in ((as_in, 1), (as_out, -1)):
        totals = sign * np.sum(found, axis=1)
        assert totals.mean() > 5 * totals.std() / np.sqrt(60)


def test_of_its_own_twin_nothing_is_shown():
    training = Anonymized(COURSE, NARROW, epsilon=1.0)
    draw = np.random.default_rng(0)
    _, ratios = training.train(X, Y, draw, Twin(0, X[0], int(Y[0]), is_in=True))
    np.testing.assert_array_equal(ratios, np.zeros(3))


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("1", ("malformed", "weights", "1")),
        ("a,b", ("malformed", "weights", "a,b")),
        ("0,0", ("out-of-range", "weights", (0, 0))),
        ("0.1,1", ("out-of-range", "weights", (0.1, 1))),
        ("1,-1", ("out-of-range", "weights", (1, -1))),
        ("-inf,1", ("out-of-range", "weights", (-math.inf, 1))),
    ],
)
def test_limits_that_are_none_are_refused(text, refusal):
    with refuses(*refusal):
        Thresholds(text, "-1,1").limits()
