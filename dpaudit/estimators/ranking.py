"""Scores in their order: the input of tests that choose no threshold."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.estimators.ties import TOSSES, reached
from dpaudit.rates import rounded
from dpaudit.seeds import derive, generator
from dpaudit.types import Array, Outcome, Scores

AT_ONCE = 2**18
"""Numbers that are tossed at a time: they stay in a processor's cache."""


def ranks(outcome: Outcome, who: str) -> tuple[Array, Array]:
    """Return the rank of each out- and each in-trial: the number of trials that score lower.

    Equal scores have equal ranks. Scores are rounded first (see `rates.rounded`), unless they
    are to be raw.
    """
    if not isinstance(outcome, Scores):
        raise BadInput(
            f"{who} needs a score for each trial, not counts or guesses",
            "wrong-outcome",
            value=(type(outcome).__name__, "Scores"),
        )
    out, inn = _usable(outcome.out, "out"), _usable(outcome.inn, "in")
    both = np.concatenate([out, inn])
    scores = both if outcome.raw else rounded(both)
    rank = np.searchsorted(np.sort(scores), scores).astype(np.int64)
    return rank[: len(out)], rank[len(out) :]


def pairs_won(out: Array, inn: Array, seed: int) -> tuple[int, bool]:
    """Return how many pairs of trials the in-trial wins, and whether the worlds are tied.

    A tie is won or lost by a toss; the number is one that `ties.SURE` of all tosses reach.
    """
    certain = int(np.searchsorted(np.sort(out), inn).sum())
    equal = np.intersect1d(out, inn)
    if not len(equal):
        return certain, False
    tied_out, tied_inn = out[np.isin(out, equal)], inn[np.isin(inn, equal)]
    within = int(np.searchsorted(np.sort(tied_out), tied_inn).sum())
    tosses = np.concatenate([*_tossed(tied_out, tied_inn, own_seed(seed, inn))])
    return certain - within + reached(tosses), True


def _tossed(out: Array, inn: Array, seed: int) -> Iterator[Array]:
    """Yield the number of pairs won in each of `TOSSES` tosses, some tosses at a time."""
    draw = generator(seed, "ties")
    rows = max(1, AT_ONCE // (len(out) + len(inn)))
    for start in range(0, TOSSES, rows):
        number = min(rows, TOSSES - start)
        lower = np.sort(out + draw.random((number, len(out))), axis=1)
        higher = inn + draw.random((number, len(inn)))
        won = [o.searchsorted(i).sum() for o, i in zip(lower, higher, strict=True)]
        yield np.array(won)


def own_seed(seed: int, inn: Array) -> int:
    """Return the seed of the simulation for in-trials of these ranks.

    It depends on the order of the trials, too: with draws of the seed alone, draws that happen to
    be small would be so in every audit with that seed and size.
    """
    order = hashlib.sha256(np.sort(inn).astype("<i8").tobytes()).hexdigest()
    return derive(seed, "order", order)


def refuse_empty(out: int, inn: int) -> None:
    """Refuse to say what no trials at all could give."""
    # A search for enough trials goes far beyond what anybody runs.
    most = 2**53
    checks.refuse(
        [checks.whole("out-trials", out, 1, most), checks.whole("in-trials", inn, 1, most)]
    )


def _usable(scores: Array, world: str) -> Array:
    try:
        values = np.asarray(scores, dtype=float)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"the scores of the {world}-trials are no numbers",
            "not-a-number",
            option=f"{world}-trials",
        ) from error
    if values.ndim != 1 or not len(values):
        raise BadInput(
            f"the {world}-trials need one score each, at least one, not an array of shape "
            f"{values.shape}",
            "shape-mismatch",
            option=f"{world}-trials",
            value=values.shape,
        )
    if np.isnan(values).any():
        count = int(np.isnan(values).sum())
        raise BadInput(
            f"{count} of {len(values)} scores of the {world}-trials are NaN",
            "not-finite",
            option=f"{world}-trials",
            value=count,
        )
    return values
