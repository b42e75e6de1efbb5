"""Scores in their order, without ties: what the tests that choose no threshold look at."""

from __future__ import annotations

import hashlib

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.rates import rounded
from dpaudit.seeds import derive, generator
from dpaudit.types import Array, Outcome, Scores


def ranks(outcome: Outcome, who: str, seed: int) -> tuple[Array, Array]:
    """The rank of every out- and of every in-trial among all, 0 for the lowest score.

    Ties are broken by fair coins. They come from the seed and the order of the trials, not from
    the seed alone: coins that happen to favour one world would do so in every audit with that
    seed. Scores are rounded first (see `rates.rounded`), unless they are to be raw.
    """
    if not isinstance(outcome, Scores):
        raise BadInput(f"{who} needs a score for each trial, not counts or guesses")
    out, inn = _usable(outcome.out, "out"), _usable(outcome.inn, "in")
    both = np.concatenate([out, inn])
    scores = both if outcome.raw else rounded(both)
    levels = np.unique(scores, return_inverse=True)[1].astype("<i8")
    order = hashlib.sha256(levels.tobytes()).hexdigest()
    coins = generator(seed, "ties", len(out), order).random(len(scores))
    sequence = np.lexsort([coins, levels])
    rank = np.empty(len(scores), dtype=np.int64)
    rank[sequence] = np.arange(len(scores))
    return rank[: len(out)], rank[len(out) :]


def own_seed(seed: int, inn: Array) -> int:
    """The seed of what is simulated for trials of these ranks.

    From the seed and the order, too: draws that happen to be small would be so in every audit
    with that seed and as many trials, and let all of them err more often than stated.
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
        raise BadInput(f"the scores of the {world}-trials are no numbers") from error
    if values.ndim != 1 or not len(values):
        raise BadInput(
            f"the {world}-trials need one score each, at least one, not an array of shape "
            f"{values.shape}"
        )
    if np.isnan(values).any():
        count = int(np.isnan(values).sum())
        raise BadInput(f"{count} of {len(values)} scores of the {world}-trials are NaN")
    return values
