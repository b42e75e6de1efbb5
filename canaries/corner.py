"""A record in the corner that all others leave it, which another takes in D'."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Array, Canary, Data, Pair, neighbours

BACK, ASIDE = -0.45, 0.893
"""Of the record, against all others and across them: of a norm just below 1."""


@dataclass(frozen=True)
class Corner(CanaryBuilder):
    """A record that all others contradict, mirrored in D'; the others are chosen too.

    For private linear learners, whose promise holds for whatever data an organisation has: here
    all its records but one are (1, 0, 0, ...) of class 1. That one is (-.45, .893, 0, ...) in D and
    (-.45, -.893, 0, ...) in D', of class 1 as well, so that a learner is wrong about it in either,
    and pulled with nearly all of its weight in opposite directions. To flip a label moves only half
    as much. Which data set is named says only how many features there are, and what the other
    organisations have.
    """

    def build(self, data: Data, seed: int) -> Pair:
        if data.pool.x[0].size < 2:
            raise BadInput(
                "a corner takes at least two features; take other data",
                "too-small",
                option="features",
                value=data.pool.x[0].size,
            )
        canary = Canary(
            x=_row(data, BACK, -ASIDE),
            y=1,
            name="corner",
            made=f"a row ({BACK}, {ASIDE}) in D and ({BACK}, -{ASIDE}) in D', where all others of "
            "its organisation are (1, 0)",
            removed=0,
            replaces=True,
        )
        given = {"before": _row(data, BACK, ASIDE), "crowd": _row(data, 1.0, 0.0)}
        return replace(neighbours(data, canary), given=given)


def _row(data: Data, *first: float) -> Array:
    """A record that begins so and is 0 elsewhere."""
    row = np.zeros(data.pool.x[0].size, np.float32)
    row[: len(first)] = first
    return row.reshape(data.shape)
