"""Users who report by different parameters, and what hiding these promises and leaks.

The number of users of each parameter is public, the parameter of a user is not. Parameter Blending
Privacy measures a user's loss against the most similar story that other users, with other
parameters, could tell:

    L_o((d, theta), (d', theta')) = |ln Pr(theta) Pr(o | d, theta) / Pr(theta') Pr(o | d', theta')|
    E'(theta) = max over d, d', o of the min over theta' of L_o((d, theta), (d', theta'))

That bounds no attacker. Who knows theta compares Pr(o | d, theta) with Pr(o | d', theta): local
differential privacy, which is at least E'. Who does not know it compares the sums over theta; with
two parameters of the paper's kind that is less than E', with three it can be more.

Takagi, Cao and Yoshikawa, On hiding the parameter in local differential privacy (in Japanese).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.papers.local.matrices import (
    binary,
    check_matrix,
    generalised_response,
    largest_ratio,
    local_dp,
    logarithms,
    optimised_unary,
    unary,
)
from dpaudit.registry import unknown
from dpaudit.types import Array

MOST = 200_000
"""Largest number of multisets of reports that are enumerated."""


class Population:
    """A matrix for each parameter theta, and the share of users who report by it.

    Shares are numbers above 0, in proportion.
    """

    def __init__(self, matrices: Sequence[Array] | Array, shares: Sequence[float] | Array) -> None:
        made = [check_matrix(matrix) for matrix in matrices]
        weights = np.asarray(shares, dtype=np.float64)
        if not made or len({p.shape for p in made}) != 1:
            problem = "a population needs matrices that are all of one shape"
            raise BadInput(problem, "shape-mismatch", option="matrices")
        if weights.shape != (len(made),):
            problem = (
                f"there are {len(made)} parameters and {weights.size} shares; give one share each"
            )
            raise BadInput(problem, "shape-mismatch", option="shares", value=weights.size)
        if not (np.isfinite(weights).all() and (weights > 0).all()):
            problem = "shares must be numbers above 0; leave out parameters that nobody has"
            raise BadInput(problem, "not-positive", option="shares")
        self.matrices: Array = np.stack(made)
        self.shares: Array = weights / weights.sum()

    @classmethod
    def of_binary(cls, truths: Sequence[float], shares: Sequence[float]) -> Population:
        """Return users who answer yes or no, truly with a probability for each parameter."""
        return cls([binary(p) for p in truths], shares)

    def __len__(self) -> int:
        return len(self.shares)

    @property
    def values(self) -> int:
        """The number of values that a user may have."""
        return int(self.matrices.shape[2])

    @property
    def blended(self) -> Array:
        """The mean of the matrices: a report, to an observer who does not know its parameter."""
        return np.asarray(np.tensordot(self.shares, self.matrices, axes=1))

    def only(self, theta: int) -> Population:
        """Return the users of one parameter."""
        return Population(self.matrices[[theta]], [1.0])

    def log_probabilities(self, reports: int = 1) -> Array:
        """ln Pr(reports | value) by each parameter: (parameters, reports, values).

        Several reports of one user are independent given value and parameter, so their order says
        nothing: each multiset is there once.
        """
        outputs = int(self.matrices.shape[1])
        if (many := comb(outputs + reports - 1, reports)) > MOST:
            problem = (
                f"{reports} reports of {outputs} kinds are {many:,} to enumerate, and at most "
                f"{MOST:,} can be; give fewer reports, or fewer values"
            )
            raise BadInput(problem, "too-costly", option="reports", value=reports)
        sets = np.array(list(combinations_with_replacement(range(outputs), reports)))
        return np.asarray(logarithms(self.matrices)[:, sets].sum(axis=2))

    def log_joint(self, reports: int = 1) -> Array:
        """ln Pr(theta) Pr(reports | value, theta): (parameters, reports, values)."""
        logs = logarithms(self.shares)[:, None, None] + self.log_probabilities(reports)
        return np.asarray(logs)


def strength(
    population: Population, theta: int, reports: int = 1, support_only: bool = False
) -> float:
    """E'(theta) of a number of reports with the same parameter, exactly.

    A report that is impossible with d is compared all the same, and makes E' infinite where it is
    possible with d' by every parameter: so the definition says. `support_only` leaves it out. Where
    both are impossible there is no loss.
    """
    joint = population.log_joint(reports)
    mine = joint[theta]
    least = np.full((*mine.shape, mine.shape[1]), np.inf)
    for theirs in joint:
        with np.errstate(invalid="ignore"):
            loss = np.abs(mine[:, :, None] - theirs[:, None, :])
        # Both impossible: -inf - -inf is no number, and there is nothing to tell apart.
        np.minimum(least, np.nan_to_num(loss, nan=0.0, posinf=np.inf), out=least)
    if support_only:
        least[mine == -np.inf] = 0.0
    return float(least.max())


def composed_strength(matrices: Iterable[Array]) -> float:
    """A valid strength of several reports, one by each matrix: the sum of their local DP.

    E' values do not add up: two reports of the paper's example at a share of .5505 have 1.9945,
    and twice that of one is 1.7918.
    """
    return sum(map(local_dp, matrices))


def blended_leak(population: Population, reports: int = 1) -> tuple[float, int, int]:
    """The largest log-ratio of the blended reports, and its values d and d'.

    It is what an observer who does not know theta can tell apart at most; of a population of one
    parameter, what one who knows it can.
    """
    return largest_ratio(np.logaddexp.reduce(population.log_joint(reports), axis=0))


EXAMPLES: Mapping[str, tuple[float, ...]] = {
    "blended": (0.8, 0.6),
    "three-parameter": (0.9, 0.9, 0.1),
}
"""Probabilities of a true answer: of the paper's users w and s, and of those whom E' fails."""

BY_EPSILON: Mapping[str, Callable[[int, float], Array]] = {
    "grr": generalised_response,
    "unary": unary,
    "optimised-unary": optimised_unary,
}

FORMS = (*EXAMPLES, "binary:P,P,...", *(f"{name}:EPSILON" for name in BY_EPSILON), "given:ROWS")


def read_population(text: str, shares: str | None, values: int | None, classes: int) -> Population:
    """Read a population such as `blended`, `binary:0.9,0.6` or `grr:2`.

    Without `shares` they are equal; without `values` there are as many as classes.
    """
    matrices = _matrices(text, values, classes)
    there = matrices[0].shape[1]
    if values not in (None, there):
        problem = f"{text} has {there} values, not {values}; leave values out"
        raise BadInput(problem, "excluded-options", option="values", value=values)
    if there > classes:
        problem = (
            f"{text} has {there} values and the data {classes} classes; a user's value is a "
            "record's class, so take other data or fewer values"
        )
        raise BadInput(problem, "too-few-classes", option="matrix", value=text)
    given = [1.0] * len(matrices) if shares is None else _numbers("shares", shares)
    return Population(matrices, given)


def _matrices(text: str, values: int | None, classes: int) -> list[Array]:
    name, _, of = text.partition(":")
    if name in EXAMPLES and not of:
        return [binary(p) for p in EXAMPLES[name]]
    if name == "binary" and of:
        return [binary(p) for p in _numbers(text, of)]
    if name == "given" and of:
        return _given(text, of)
    if name in BY_EPSILON and of:
        epsilon, *more = _numbers(text, of)
        if more:
            problem = f"{text} has more than one epsilon; write {name}:EPSILON"
            raise BadInput(problem, "malformed", option="matrix", value=text)
        return [BY_EPSILON[name](values or classes, epsilon)]
    problem = unknown("matrices", text, list(FORMS))
    raise BadInput(problem, "unknown-name", option="matrix", value=text)


def _given(text: str, of: str) -> list[Array]:
    """Read `0.8,0.2/0.2,0.8;...`: numbers of a row by commas, rows by slashes, parameters by ;"""
    rows = [[_numbers(text, row) for row in matrix.split("/")] for matrix in of.split(";")]
    if len({len(row) for matrix in rows for row in matrix}) > 1:
        problem = f"{text} has rows of different lengths"
        raise BadInput(problem, "shape-mismatch", option="matrix", value=text)
    return [np.array(matrix) for matrix in rows]


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        problem = f"'{text}' of {name} is no list of numbers such as 0.5,0.5"
        option = "shares" if name == "shares" else "matrix"
        raise BadInput(problem, "not-a-number", option=option, value=text) from None
