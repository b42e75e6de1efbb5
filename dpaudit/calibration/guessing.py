"""Guesses of one run from scores: the highest were in, the lowest out."""

from __future__ import annotations

import numpy as np

from dpaudit.types import IN, OUT, Array, Guesses


def guessed(scores: Array, worlds: Array, guesses: int) -> Guesses:
    """How many guesses are right, if half of them are 'in' and the others 'out'.

    `worlds` are the coins by which each canary was put in or left out. Ties keep their order,
    which is older than the coins.
    """
    order = np.argsort(scores, kind="stable")
    lowest, highest = order[: guesses // 2], order[len(order) - (guesses + 1) // 2 :]
    right = np.sum(worlds[lowest] == OUT) + np.sum(worlds[highest] == IN)
    return Guesses(canaries=len(scores), guesses=guesses, correct=int(right))
