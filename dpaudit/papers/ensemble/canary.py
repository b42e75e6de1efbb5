"""A record in the corner that all others leave it, and one organisation's rows in both worlds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.papers.ensemble.unit_rows import Rows, Scaling
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Array, Canary, Data, Pair, Records, neighbours

BACK, ASIDE = -0.45, 0.893
"""The canary along all others and across them: of a norm just below 1."""


@dataclass(frozen=True)
class Corner(CanaryBuilder):
    """A record that contradicts all others, mirrored in D'; the others are chosen too.

    For private linear learners, whose promise holds for any data of an organisation. Here all its
    records but one are (1, 0, 0, ...) of class 1. That one is (-.45, .893, 0, ...) in D and (-.45,
    -.893, 0, ...) in D', also of class 1. A learner is wrong about it in both worlds and pulled
    with nearly all of its weight in opposite directions. Flipping a label moves only half as much.
    The named data set gives only the number of features and the data of the other organisations.
    """

    def build(self, data: Data, seed: int) -> Pair:
        if data.pool.x[0].size < 2:
            problem, size = (
                "a corner takes at least two features; take other data",
                data.pool.x[0].size,
            )
            raise BadInput(problem, "too-small", option="features", value=size)
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
    """Return a record that begins with these values and is 0 elsewhere."""
    row = np.zeros(data.pool.x[0].size, np.float32)
    row[: len(first)] = first
    return row.reshape(data.shape)


@dataclass(frozen=True)
class NeighbouringRows:
    """The rows of an organisation in both worlds, which differ in the first.

    `rest` are the rows that no organisation has yet.
    """

    out: Rows
    inn: Rows
    rest: Rows

    @classmethod
    def of(cls, pair: Pair, n: int, scaling: Scaling) -> NeighbouringRows:
        """Return an organisation of n records, one of which is the canary's.

        A canary with a `crowd` has chosen the others, and the one that it replaces.
        """
        canary = pair.canary
        i = canary.removed or 0
        rest = pair.out.without(i)
        if "crowd" in pair.given:
            crowd = np.repeat(pair.given["crowd"][None], n - 1, axis=0)
            first = (pair.given["before"], canary.x)
            out, inn = (scaling.crafted(np.concatenate([x[None], crowd]), canary.y) for x in first)
            if np.array_equal(out.x[0], inn.x[0]):
                problem = (
                    f"the canary {canary.name} is the same in D and in D' in all features that "
                    "are learned from; set more (--set features=2)"
                )
                raise BadInput(problem, "no-difference", option="features", value=canary.name)
            return cls(out, inn, scaling.of(rest))
        before = after = Records(pair.out.x[i : i + 1], pair.out.y[i : i + 1])
        if canary.inserted:
            after = Records(canary.x[None], np.array([canary.y], dtype=np.int64))
        out, inn = (
            scaling.of(
                Records(
                    np.concatenate([first.x, rest.x[: n - 1]]),
                    np.concatenate([first.y, rest.y[: n - 1]]),
                )
            )
            for first in (before, after)
        )
        return cls(out, inn, scaling.of(Records(rest.x[n - 1 :], rest.y[n - 1 :])))

    @property
    def worlds(self) -> tuple[Rows, Rows]:
        """The organisation's rows by the number of the world."""
        return self.out, self.inn

    def others(self, number: int) -> list[tuple[int, Rows]]:
        """Return other organisations, each with its index; all have the same number of rows."""
        n = len(self.out)
        taken = Rows(self.rest.x[: number * n], self.rest.y[: number * n])
        return list(enumerate(taken.dealt(number)))
