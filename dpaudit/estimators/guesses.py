"""Guesses of one run from scores: the highest were in, the lowest out."""

from __future__ import annotations

import numpy as np

from dpaudit.estimators.ties import TOSSES, reached
from dpaudit.rates import rounded
from dpaudit.seeds import generator
from dpaudit.types import Array, Guesses


def guessed(scores: Array, put_in: Array, guesses: int) -> Guesses:
    """Count the right guesses, if half of them are 'in' and the others 'out'.

    `put_in` are the coins by which each canary was put in or left out. Where the guesses end among
    equal scores, a toss decides on which of these canaries they fall; the count is one that
    `ties.SURE` of all tosses reach. Scores are rounded first (see `rates.rounded`).
    """
    levels = rounded(scores)
    calls = called(levels, guesses)
    right = calls == np.where(put_in, 1, -1)
    ends = {levels[calls == 1].min(), *levels[calls == -1].max(keepdims=True, initial=-np.inf)}
    tied = [group for group in (levels == end for end in ends) if len(set(calls[group])) > 1]
    if not tied:
        return Guesses(len(scores), guesses, int(right.sum()))
    tosses = np.sum([_tossed(calls[group], put_in[group]) for group in tied], axis=0)
    certain = int(right[~np.any(tied, axis=0)].sum())
    return Guesses(len(scores), guesses, certain + reached(tosses), tied=True)


def _tossed(calls: Array, put_in: Array) -> Array:
    """Return the right guesses in each of `TOSSES` tosses of these calls among equal scores."""
    called_in, called_out = int((calls == 1).sum()), int((calls == -1).sum())
    inn, out = int(put_in.sum()), int((~put_in).sum())
    draw = generator(0, "ties", inn, out, called_in, called_out)
    right_in = draw.hypergeometric(inn, out, called_in, TOSSES)
    rest_out, rest_in = out - (called_in - right_in), inn - right_in
    return np.asarray(right_in + draw.hypergeometric(rest_out, rest_in, called_out))


def called(scores: Array, guesses: int) -> Array:
    """Return the guess on each canary: 1 in, -1 out, 0 none; equal scores keep their order."""
    called_in, called_out = halves(guesses)
    order = np.argsort(scores, kind="stable")
    calls = np.zeros(len(scores), dtype=int)
    calls[order[:called_out]] = -1
    calls[order[len(order) - called_in :]] = 1
    return calls


def halves(guesses: int) -> tuple[int, int]:
    """Return how many canaries are called in and out."""
    return guesses - guesses // 2, guesses // 2
