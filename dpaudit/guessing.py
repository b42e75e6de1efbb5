"""Guesses of one run from scores: the highest were in, the lowest out."""

from __future__ import annotations

import numpy as np

from dpaudit.types import Array, Guesses


def guessed(scores: Array, put_in: Array, guesses: int) -> Guesses:
    """How many guesses are right, if half of them are 'in' and the others 'out'.

    `put_in` are the coins by which each canary was put in or left out. Ties keep their order,
    which must say nothing of the coins.
    """
    right = called(scores, guesses) == np.where(put_in, 1, -1)
    return Guesses(canaries=len(scores), guesses=guesses, correct=int(right.sum()))


def called(scores: Array, guesses: int) -> Array:
    """What is guessed of each canary: 1 in, -1 out, 0 nothing."""
    called_in, called_out = halves(guesses)
    order = np.argsort(scores, kind="stable")
    calls = np.zeros(len(scores), dtype=int)
    calls[order[:called_out]] = -1
    calls[order[len(order) - called_in :]] = 1
    return calls


def halves(guesses: int) -> tuple[int, int]:
    """How many canaries are called in and out."""
    return guesses - guesses // 2, guesses // 2
