"""Guesses from scores: who is called in and out, and how many of them rightly."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimators import OneRun, OneRunFDP
from dpaudit.estimators.one_run import assign_guesses, count_right, halves
from dpaudit.results import Guesses

SCORES = np.array([0.3, 2.0, -1.0, 0.5, 1.0])


def test_the_highest_are_called_in_and_the_lowest_out():
    assert assign_guesses(SCORES, 3).tolist() == [0, 1, -1, 0, 1]
    assert assign_guesses(SCORES, 1).tolist() == [0, 1, 0, 0, 0]
    assert assign_guesses(SCORES, 5).tolist() == [-1, 1, -1, 1, 1]


def test_an_odd_guess_is_in():
    assert halves(5) == (3, 2)


def test_right_guesses_are_counted_on_both_sides():
    coins = np.array([True, True, False, True, False])
    assert count_right(SCORES, coins, 3) == Guesses(canaries=5, guesses=3, correct=2)
    assert count_right(SCORES, ~coins, 3).correct == 1


@pytest.mark.parametrize("guesses", [1, 2, 5, 6])
@pytest.mark.parametrize("scores", [[0, 0, 0, 0, 0, 0], [0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1]])
def test_guesses_among_equal_scores_count_what_nine_tenths_of_all_orders_reach(scores, guesses):
    """Against every order of the tied canaries, enumerated; see the tolerance in test_ranking."""
    scores, coins = np.array(scores, float), np.array([1, 0, 1, 1, 0, 0], bool)
    right = []
    for order in permutations(range(6)):
        calls = assign_guesses((scores + np.array(order) / 10), guesses)
        right.append(int((calls == np.where(coins, 1, -1)).sum()))
    found = count_right(scores, coins, guesses)
    assert found.tied or len(set(right)) == 1
    assert np.mean(np.array(right) >= found.correct) >= 0.86
    assert np.mean(np.array(right) >= found.correct + 1) < 0.94


@pytest.mark.parametrize(("canaries", "guesses"), [(4, 4), (100, 100), (1000, 200), (999, 1)])
def test_constant_scores_prove_nothing_whatever_the_coins(canaries, guesses):
    for seed in range(40):
        coins = np.random.default_rng(seed).random(canaries) < 0.5
        found = count_right(np.zeros(canaries), coins, guesses)
        assert found.tied
        for estimator in (OneRun(), OneRunFDP()):
            assert estimator.bound(found, 1e-5).epsilon == 0


@pytest.mark.parametrize("levels", [1, 3, 50])
def test_tied_guesses_err_no_more_often_than_stated(levels):
    """Randomized response of epsilon 1 with useless levels; fails by chance with less than 1e-4."""
    draw, above = np.random.default_rng(4), 0
    for _ in range(300):
        coins = draw.random(200) < 0.5
        said = np.where(draw.random(200) < np.e / (1 + np.e), coins, ~coins)
        scores = said + np.floor(levels * draw.random(200)) / levels
        above += OneRun().bound(count_right(scores, coins, 80), 0.0).epsilon > 1
    assert above <= binom.isf(1e-5, 300, 0.05)
