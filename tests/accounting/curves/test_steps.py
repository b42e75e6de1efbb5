"""Two trainings, scored step by step: what the steps show of the whole."""

import math

import numpy as np
import pytest
from refusals import refuses
from scipy.special import ndtr
from scipy.stats import binom

from dpaudit.accounting import gaussian_epsilon
from dpaudit.accounting.curves import DPSGDFamily, DPSGDStepsFamily, GaussianFamily
from dpaudit.estimators import PLD, PairedAUC, RankTest
from dpaudit.estimators.paired_auc import AUCBet
from dpaudit.results import Counts, Scores

DELTA = 1e-5
Q, T = 0.01, 5000
TRAINING = DPSGDStepsFamily(Q, T)


def noise(epsilon, curves=TRAINING):
    """The largest noise multiplier of the grid at which a training leaks more than epsilon."""
    low, high = 1, curves.steps
    while high - low > 1:
        middle = (low + high) // 2
        more = curves.epsilon(curves.parameter(middle), DELTA) > epsilon
        low, high = (low, middle) if more else (middle, high)
    return curves.parameter(high)


def watched(s, draw, steps=T):
    """The best scores that there are, a step each: the canary's share of the noisy sum."""
    return Scores(out=draw.normal(0, s, steps), inn=draw.normal(1, s, steps))


@pytest.mark.parametrize("s", [0.5, 1.0, 4.0])
def test_one_step_that_sees_every_record_is_the_gaussian_mechanism(s):
    curves, x = DPSGDStepsFamily(1.0, 1), np.linspace(0, 1, 101)
    np.testing.assert_array_equal(curves.trade_off(s, x), GaussianFamily().trade_off(1 / s, x))
    np.testing.assert_array_equal(curves.inn(s, x), GaussianFamily().inn(1 / s, x))
    assert curves.area(s) == GaussianFamily().area(1 / s)
    assert curves.epsilon(s, DELTA) == gaussian_epsilon(1 / s, DELTA)
    scores = watched(s, np.random.default_rng(1), steps=400)
    of_steps = PairedAUC(curves).bound(scores, DELTA).epsilon
    assert of_steps == pytest.approx(PairedAUC("gaussian").bound(scores, DELTA).epsilon, rel=0.02)


def test_the_epsilon_is_that_of_the_training():
    assert TRAINING.epsilon(1.0, DELTA) == DPSGDFamily(Q, T).epsilon(1.0, DELTA)
    assert DPSGDStepsFamily(1.0, 25).epsilon(10.0, DELTA) == gaussian_epsilon(0.5, DELTA)
    assert DPSGDStepsFamily(0.2, 25).area(2.0) == DPSGDStepsFamily(0.9, 7).area(2.0)


@pytest.mark.parametrize("q", [0.999999, 1.0])
def test_a_record_that_is_replaced_moves_a_step_by_twice_the_clip(q):
    curves = DPSGDStepsFamily(q, 16, "replace")
    assert curves.area(4.0) == GaussianFamily().area(0.5)
    assert curves.epsilon(4.0, DELTA) == pytest.approx(gaussian_epsilon(2.0, DELTA), rel=2e-3)


def test_impossible_steps_are_refused():
    for code, *settings in (
        ("out-of-range", 0.0, 10),
        ("out-of-range", 1.5, 10),
        ("too-small", 0.1, 0),
        ("unknown-choice", 0.1, 10, "both"),
    ):
        with refuses(code):
            DPSGDStepsFamily(*settings)
    with refuses("needs-delta", "delta", 0.0):
        DPSGDStepsFamily(1.0, 10).epsilon(1.0, 0.0)


@pytest.mark.parametrize("games", [16, pytest.param(200, marks=pytest.mark.verify)])
@pytest.mark.parametrize(("epsilon", "mean"), [(1.0, 0.87), (4.0, 3.67), (8.0, 7.27)])
def test_two_trainings_show_most_of_what_a_training_leaks(epsilon, mean, games):
    """Means to two digits and 4.5 standard errors: a false alarm has a probability of 1e-5."""
    s, draw = noise(epsilon), np.random.default_rng(3)
    found = [PairedAUC(TRAINING).bound(watched(s, draw), DELTA).epsilon for _ in range(games)]
    close = 0.01 + 4.5 * np.std(found, ddof=1) / math.sqrt(games)
    assert np.mean(found) == pytest.approx(mean, abs=close)


# ---------------------------------------------------------------- how often it errs


def errors(estimator, s, games, curves=TRAINING, seed=5):
    """How many of so many pairs of trainings seem to leak more than they do, at 95 %."""
    draw, truth = np.random.default_rng(seed), curves.epsilon(s, DELTA)
    pairs = (watched(s, draw, curves.rounds) for _ in range(games))
    return sum(estimator.bound(scores, DELTA).epsilon > truth for scores in pairs)


def rarely(count, games):
    """At most 5 %, but for a chance of 1e-5."""
    return count <= binom.isf(1e-5, games, 0.05)


FULL = DPSGDStepsFamily(1.0, 300)
"""Of full batches, whose epsilon takes no accountant."""


@pytest.mark.parametrize("s", [2.0, 15.0])
def test_steps_of_full_batches_err_as_rarely_as_stated(s):
    wrong = errors(PairedAUC(FULL), s, games=1500, curves=FULL)
    assert wrong > 0.03 * 1500
    assert rarely(wrong, 1500)


def test_bets_on_steps_err_as_rarely_as_stated_whenever_one_looks():
    games, s, draw = 400, 8.0, np.random.default_rng(7)
    wrong, truth = 0, FULL.epsilon(s, DELTA)
    for _ in range(games):
        game = AUCBet(DELTA, FULL)
        for won in draw.random(FULL.rounds) < FULL.area(s):
            game.show([won])
        wrong += game.bound().epsilon > truth
    assert rarely(wrong, games)


@pytest.mark.verify
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_steps_of_a_sampled_training_err_as_rarely_as_stated(epsilon):
    assert rarely(errors(PairedAUC(TRAINING), noise(epsilon), games=400), 400)


@pytest.mark.verify
def test_the_rank_test_of_independent_steps_errs_as_rarely_as_stated():
    assert rarely(errors(RankTest(FULL), 8.0, games=300, curves=FULL), 300)


def test_counted_steps_bound_the_training_too():
    """A threshold at one half, by expected counts: less than the scores show, and no alarm."""
    s = noise(4.0)
    rate = round(T * float(ndtr(-0.5 / s)))
    counted = PLD(TRAINING).bound(Counts(rate, T, rate, T), DELTA)
    scored = PairedAUC(TRAINING).bound(watched(s, np.random.default_rng(1)), DELTA)
    assert 3 < counted.epsilon < scored.epsilon < 4
    assert PLD(TRAINING).parameter(counted.counts, DELTA) > s
