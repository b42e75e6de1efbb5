"""Guesses from scores: who is called in and out, and how many of them rightly."""

import numpy as np

from dpaudit.guessing import called, guessed, halves
from dpaudit.types import Guesses

SCORES = np.array([0.3, 2.0, -1.0, 0.5, 1.0])


def test_the_highest_are_called_in_and_the_lowest_out():
    assert called(SCORES, 3).tolist() == [0, 1, -1, 0, 1]
    assert called(SCORES, 1).tolist() == [0, 1, 0, 0, 0]
    assert called(SCORES, 5).tolist() == [-1, 1, -1, 1, 1]


def test_an_odd_guess_is_in():
    assert halves(5) == (3, 2)


def test_right_guesses_are_counted_on_both_sides():
    coins = np.array([True, True, False, True, False])
    assert guessed(SCORES, coins, 3) == Guesses(canaries=5, guesses=3, correct=2)
    assert guessed(SCORES, ~coins, 3).correct == 1


def test_equal_scores_keep_their_order():
    assert called(np.zeros(4), 2).tolist() == [-1, 0, 0, 1]
