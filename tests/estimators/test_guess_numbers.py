"""The number of guesses: what is tried, what the choice costs, and that the best is a bound."""

from functools import cache

import numpy as np
import pytest
from chance import A
from refusals import refuses
from scipy.special import expit
from scipy.stats import binom

from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import FIXED_BEFOREHAND, GuessNumbers, count_right
from dpaudit.estimators.sentences import COINS, COINS_SEVERAL
from dpaudit.results import Guesses

DELTA = 1e-5


@cache
def steinke(canaries, guesses, correct, confidence):
    return OneRun(confidence).bound(Guesses(canaries, guesses, correct), DELTA).epsilon


def leaking(mu, canaries, seed):
    draw = np.random.default_rng(seed)
    coins = draw.random(canaries) < 0.5
    return draw.normal(size=canaries) + mu * coins, coins


def test_all_a_half_a_quarter_and_an_eighth_are_tried():
    assert GuessNumbers.of(1000).numbers == [1000, 500, 250, 125]
    assert GuessNumbers.of(3).numbers == [3, 1]


def test_a_single_number_pays_nothing():
    scores, coins = leaking(2, 200, 0)
    bound = GuessNumbers([50]).bound(scores, coins, OneRun, DELTA, 0.95)
    assert bound.epsilon == OneRun(0.95).bound(bound.guesses, DELTA).epsilon
    assert bound.selection == FIXED_BEFOREHAND
    assert COINS in bound.sentence


def test_the_best_of_several_is_that_of_a_loop_at_a_share_of_the_error():
    scores, coins = leaking(2, 200, 1)
    bound = GuessNumbers.of(200).bound(scores, coins, OneRun, DELTA, 0.95)
    tried = [count_right(scores, coins, r) for r in (200, 100, 50, 25)]
    naive = {g: OneRun(1 - 0.05 / 4).bound(g, DELTA).epsilon for g in tried}
    assert bound.epsilon == max(naive.values()) == naive[bound.guesses]
    assert bound.confidence == 0.95
    assert "At 95 % confidence" in bound.sentence
    assert COINS_SEVERAL in bound.sentence
    assert "200, 100, 50 and 25), each at 98.75 %" in bound.selection
    assert bound.trials == (int((~coins).sum()), int(coins.sum()))


@pytest.mark.parametrize("judge", [OneRun, OneRunFDP])
def test_no_bound_exceeds_the_ceiling_of_a_flawless_one(judge):
    coins = np.random.default_rng(2).random(160) < 0.5
    numbers = GuessNumbers.of(160)
    flawless = numbers.bound(coins.astype(float), coins, judge, DELTA, 0.95)
    some = numbers.bound(*leaking(2, 160, 3), judge, DELTA, 0.95)
    most = numbers.ceiling(judge(numbers.each(0.95)), 160, DELTA)
    assert some.epsilon < flawless.epsilon <= flawless.ceiling == some.ceiling == most


def test_the_best_of_several_is_above_the_truth_no_more_often_than_it_states():
    """Randomized response of epsilon 1 on each canary, which no mechanism can leak more than.

    Half of the canaries get a louder answer, so that numbers of guesses differ in what they show.
    The test fails by chance with a probability of 1e-5.
    """
    above, audits, canaries = 0, 1000, 80
    numbers = GuessNumbers.of(canaries)
    draw = np.random.default_rng(4)
    for _ in range(audits):
        coins = draw.random(canaries) < 0.5
        told = coins ^ (draw.random(canaries) > expit(1.0))
        scores = np.where(told, 1.0, -1.0) * (1 + (np.arange(canaries) % 2))
        each = numbers.each(0.95)
        found = max(
            steinke(canaries, r, count_right(scores, coins, r).correct, each)
            for r in numbers.numbers
        )
        above += found > 1
    assert above <= binom.isf(A, audits, 0.05)


def test_a_number_below_one_is_refused():
    with refuses("too-small", "numbers", [10, 0]):
        GuessNumbers([10, 0])
