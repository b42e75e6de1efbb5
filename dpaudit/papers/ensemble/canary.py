"""One organisation's data in two worlds, and the data of the others, which are in both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.errors import BadInput
from dpaudit.papers.ensemble.aggregation import Organisation
from dpaudit.papers.ensemble.unit_rows import Rows, Scaling
from dpaudit.protocols import CanaryBuilder
from dpaudit.types import Array, Canary, Data, Known, Observations, Pair, Records, neighbours


@dataclass(frozen=True)
class Neighbouring:
    """`out` and `inn` differ in their first row; `rest` is what nobody has been dealt yet."""

    out: Rows
    inn: Rows
    rest: Rows

    @classmethod
    def of(cls, pair: Pair, n: int, scaling: Scaling) -> Neighbouring:
        """An organisation of n records, one of which is the canary's.

        A canary that brings a `crowd` has chosen the others, and the one that it replaces.
        """
        canary = pair.canary
        i = canary.removed or 0
        rest = pair.out.without(i)
        if "crowd" in pair.given:
            crowd = np.repeat(pair.given["crowd"][None], n - 1, axis=0)
            first = (pair.given["before"], canary.x)
            out, inn = (scaling.crafted(np.concatenate([x[None], crowd]), canary.y) for x in first)
            if np.array_equal(out.x[0], inn.x[0]):
                raise BadInput(
                    f"the canary {canary.name} is the same in D and in D' in all features that "
                    "are learned from; set more (--set features=2)",
                    "no-difference",
                    option="features",
                    value=canary.name,
                )
            return cls(out, inn, scaling.of(rest))
        before = Records(pair.out.x[i : i + 1], pair.out.y[i : i + 1])
        after = before
        if canary.inserted:
            after = Records(canary.x[None], np.array([canary.y], dtype=np.int64))
        out, inn = (scaling.of(_joined(first, rest, n)) for first in (before, after))
        left = Records(rest.x[n - 1 :], rest.y[n - 1 :])
        return cls(out, inn, scaling.of(left))

    @property
    def worlds(self) -> tuple[Rows, Rows]:
        """The organisation's rows by the number of the world."""
        return self.out, self.inn

    def organisations(self, number: int) -> list[Organisation]:
        """So many others, each of as many records."""
        n = len(self.out)
        taken = Rows(self.rest.x[: number * n], self.rest.y[: number * n])
        return [Organisation(m, rows) for m, rows in enumerate(taken.dealt(number))]


def _joined(first: Records, rest: Records, n: int) -> Records:
    return Records(
        np.concatenate([first.x, rest.x[: n - 1]]), np.concatenate([first.y, rest.y[: n - 1]])
    )


# ----------------------------------------------------------------
# A record in the corner that all others leave it, which another takes in D'.


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


# ----------------------------------------------------------------
# A private learner that was released, as likely with one record as with the other.


def _score(seen: Observations, known: Known) -> Array:
    return np.asarray(seen["leaning"], dtype=np.float64)


class Learner(FixedAttack):
    """Says D' if a released learner is likelier with its record, or an aggregate leans towards it.

    For private ensembles. Of one organisation's learner it is the exact log-likelihood ratio, the
    best score there is (Neyman and Pearson 1933), because who knows the records knows the density
    of the learner. Of an aggregate, in which that is lost, it is how much nearer it is to what D'
    would make of it without noise than to what D would. Nothing is chosen: score and rule are fixed
    before the first learner, so that all of them judge.
    """

    def __init__(self) -> None:
        super().__init__("learner", Statistic("score", frozenset({"leaning"}), _score))
