"""One organisation's data in two worlds, and the data of the others, which are in both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.ensemble.organisations import Organisation
from dpaudit.ensemble.rows import Rows
from dpaudit.ensemble.scaling import Scaling
from dpaudit.errors import BadInput
from dpaudit.types import Pair, Records


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
