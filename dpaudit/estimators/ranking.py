"""Scores in their order, without ties: what the tests that choose no threshold look at."""

from __future__ import annotations

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.rates import rounded
from dpaudit.seeds import generator
from dpaudit.types import Array, Outcome, Scores


def ranks(outcome: Outcome, who: str, seed: int) -> tuple[Array, Array]:
    """The rank of every out- and of every in-trial among all, 0 for the lowest score.

    Ties are broken by fair coins, which a trial has whatever its score: a score that rises
    never lowers its own rank. Scores are rounded first (see `rates.rounded`).
    """
    if not isinstance(outcome, Scores):
        raise BadInput(f"{who} needs a score for each trial, not counts or guesses")
    out, inn = _usable(outcome.out, "out"), _usable(outcome.inn, "in")
    coins = generator(seed, "ties").random(len(out) + len(inn))
    order = np.lexsort([coins, rounded(np.concatenate([out, inn]))])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[: len(out)], rank[len(out) :]


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
