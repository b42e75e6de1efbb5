"""A score learned from released numbers, whatever they mean."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.discriminant import LearnedRule, learn
from dpaudit.attacks.statistics import require
from dpaudit.protocols import Attack, Criterion
from dpaudit.rates import rounded
from dpaudit.types import Array, Known, Observations

LARGEST = 1e9
"""Released numbers beyond it, and what is no number at all, say no more than that."""


class Released(Attack):
    """A linear score learned from all released values (ridge LDA).

    For mechanisms that release numbers instead of a classifier: a noisy sum, a histogram, a
    vector of weights. It learns, on the choosing half, the direction in which the worlds differ
    most for their spread; one released number is thus compared with one threshold, on the side
    that was learned.
    """

    def __init__(self) -> None:
        self.needs: frozenset[str] = frozenset({"values"})

    def features(self, seen: Observations, known: Known) -> Array:
        """The released values, one row a trial; finite, with fixed bounds."""
        require(self.needs, seen, "released")
        values = np.asarray(seen["values"], dtype=np.float64)
        flat = values.reshape(len(values), -1)
        return rounded(np.clip(np.nan_to_num(flat, nan=LARGEST), -LARGEST, LARGEST))

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
        return learn("released", features, worlds, criterion)

    def __repr__(self) -> str:
        return "released"
