"""Users who report by different parameters: how many of them by which is public, who is not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.local.matrices import binary, checked, logarithms
from dpaudit.types import Array

MOST = 200_000
"""Reports, as often as a user gives them and whatever their order, that are enumerated."""


class Population:
    """A matrix for each parameter theta, and the share of users who report by it.

    Shares are numbers in proportion, above 0: a parameter that nobody has is none.
    """

    def __init__(self, matrices: Sequence[Array] | Array, shares: Sequence[float] | Array) -> None:
        made = [checked(matrix) for matrix in matrices]
        weights = np.asarray(shares, dtype=np.float64)
        if not made or len({p.shape for p in made}) != 1:
            raise BadInput(
                "a population needs matrices that are all of one shape",
                "shape-mismatch",
                option="matrices",
            )
        if weights.shape != (len(made),):
            raise BadInput(
                f"there are {len(made)} parameters and {weights.size} shares; give one share each",
                "shape-mismatch",
                option="shares",
                value=weights.size,
            )
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            raise BadInput(
                "shares must be numbers above 0; leave out parameters that nobody has",
                "not-positive",
                option="shares",
            )
        self.matrices: Array = np.stack(made)
        self.shares: Array = weights / weights.sum()

    @classmethod
    def of_binary(cls, truths: Sequence[float], shares: Sequence[float]) -> Population:
        """Yes or no, told as it is with a probability for each parameter."""
        return cls([binary(p) for p in truths], shares)

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def values(self) -> int:
        """How many values a user may have."""
        return int(self.matrices.shape[2])

    @property
    def blended(self) -> Array:
        """What a report looks like to who does not know its parameter: the mean of the matrices."""
        return np.asarray(np.tensordot(self.shares, self.matrices, axes=1))

    def only(self, theta: int) -> Population:
        """What is left of it for who knows the parameter."""
        return Population(self.matrices[[theta]], [1.0])

    def log_probabilities(self, reports: int = 1) -> Array:
        """ln Pr(reports | value) by each parameter: (parameters, reports, values).

        Several reports of one user are independent given value and parameter, so that their order
        says nothing: each multiset is there once.
        """
        outputs = int(self.matrices.shape[1])
        if (many := comb(outputs + reports - 1, reports)) > MOST:
            raise BadInput(
                f"{reports} reports of {outputs} kinds are {many:,} to enumerate, and at most "
                f"{MOST:,} can be; give fewer reports, or fewer values",
                "too-costly",
                option="reports",
                value=reports,
            )
        sets = np.array(list(combinations_with_replacement(range(outputs), reports)))
        return np.asarray(logarithms(self.matrices)[:, sets].sum(axis=2))
