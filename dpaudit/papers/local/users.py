"""Users who report by different parameters: how many of them by which is public, who is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.papers.local.matrices import (
    binary,
    checked,
    generalised,
    local_dp,
    logarithms,
    optimised_unary,
    unary,
    widest,
)
from dpaudit.registry import unknown
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


# ----------------------------------------------------------------
# Parameter Blending Privacy: what is promised to users who hide by which parameter they report.
#
# Takagi, Cao and Yoshikawa, On hiding the parameter in local differential privacy (in Japanese).
# A user's loss is measured against the most similar story that other users, with other parameters,
# could tell:
#
#     L_o((d, theta), (d', theta')) = |ln Pr(theta) Pr(o | d, theta) / Pr(theta') Pr(o | d', theta')
#     E'(theta) = max over d, d', o of the min over theta' of L_o((d, theta), (d', theta'))
#
# That bounds no attacker. Who knows theta compares Pr(o | d, theta) with Pr(o | d', theta): local
# differential privacy, which is at least E'. Who does not know it compares the sums over theta; wit
# two parameters of the paper's kind that is less than E', with three it can be more.


def strength(
    population: Population, theta: int, reports: int = 1, support_only: bool = False
) -> float:
    """E'(theta), exactly, of so many reports with the same parameter.

    A report that is impossible with d is compared all the same, and makes E' infinite where it is
    possible with d' by every parameter: so the definition says. `support_only` leaves it out. Where
    both are impossible there is no loss.
    """
    log_p = population.log_probabilities(reports)
    joint = logarithms(population.shares)[:, None, None] + log_p
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


def composed(matrices: Iterable[Array]) -> float:
    """A valid strength of several reports, one by each matrix: their local-DP values add up.

    E' values do not: two reports of the paper's example at a share of .5505 have 1.9945, and twice
    that of one is 1.7918.
    """
    return sum(map(local_dp, matrices))


def observed(population: Population, reports: int = 1) -> tuple[float, int, int]:
    """What who does not know theta can tell apart at most, and the values d and d' of it.

    The largest log-ratio of the blended reports. Of a population of one parameter it is that of
    who knows theta.
    """
    joint = logarithms(population.shares)[:, None, None] + population.log_probabilities(reports)
    return widest(np.logaddexp.reduce(joint, axis=0))


# ----------------------------------------------------------------
# Populations by name, as a user writes them: `blended`, `binary:0.9,0.6`, `grr:2`.


EXAMPLES: Mapping[str, tuple[float, ...]] = {
    "blended": (0.8, 0.6),
    "three-parameter": (0.9, 0.9, 0.1),
}
"""Probabilities of a true answer: of the paper's users w and s, and of those whom E' fails."""

BY_EPSILON: Mapping[str, Callable[[int, float], Array]] = {
    "grr": generalised,
    "unary": unary,
    "optimised-unary": optimised_unary,
}

FORMS = (*EXAMPLES, "binary:P,P,...", *(f"{name}:EPSILON" for name in BY_EPSILON), "given:ROWS")


def named(text: str, shares: str | None, values: int | None, classes: int) -> Population:
    """The population of such a name; equal shares, and as many values as classes, if not said."""
    matrices = _matrices(text, values, classes)
    if values not in (None, matrices[0].shape[1]):
        raise BadInput(
            f"{text} has {matrices[0].shape[1]} values, not {values}; leave values out",
            "excluded-options",
            option="values",
            value=values,
        )
    if matrices[0].shape[1] > classes:
        raise BadInput(
            f"{text} has {matrices[0].shape[1]} values and the data {classes} classes; a user's "
            "value is a record's class, so take other data or fewer values",
            "too-few-classes",
            option="matrix",
            value=text,
        )
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
        numbers = _numbers(text, of)
        if len(numbers) > 1:
            raise BadInput(
                f"{text} has more than one epsilon; write {name}:EPSILON",
                "malformed",
                option="matrix",
                value=text,
            )
        return [BY_EPSILON[name](values or classes, numbers[0])]
    raise BadInput(
        unknown("matrices", text, list(FORMS)), "unknown-name", option="matrix", value=text
    )


def _given(text: str, of: str) -> list[Array]:
    """`0.8,0.2/0.2,0.8;...`: numbers of a row by commas, rows by slashes, parameters by ;"""
    rows = [[_numbers(text, row) for row in matrix.split("/")] for matrix in of.split(";")]
    if len({len(row) for matrix in rows for row in matrix}) > 1:
        raise BadInput(
            f"{text} has rows of different lengths", "shape-mismatch", option="matrix", value=text
        )
    return [np.array(matrix) for matrix in rows]


def _numbers(what: str, text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise BadInput(
            f"'{text}' of {what} is no list of numbers such as 0.5,0.5",
            "not-a-number",
            option="shares" if what == "shares" else "matrix",
            value=text,
        ) from None
