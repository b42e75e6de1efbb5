"""Matrices of reports: P[o, d] = Pr(report o | value d), a column for each value."""

from __future__ import annotations

import math

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.types import Array

WIDEST = 12
"""Largest number of values that are written as bits: 2^12 reports are enumerated."""

LARGEST = 50.0
"""Largest epsilon: beyond it the exponential leaves no digit of the other probabilities."""


def check_matrix(matrix: Array) -> Array:
    """Return the matrix in double precision; refuse it unless every column is a distribution."""
    p = np.asarray(matrix, dtype=np.float64)
    if p.ndim != 2 or p.shape[0] < 1 or p.shape[1] < 2:
        problem = (
            "a matrix has a row for each report and a column for each of at least two values, not "
            f"the shape {p.shape}"
        )
        raise BadInput(problem, "shape-mismatch", option="matrix", value=p.shape)
    if not (np.isfinite(p).all() and (p >= 0).all()):
        problem = "a matrix holds probabilities, which are at least 0"
        raise BadInput(problem, "not-probabilities", option="matrix")
    sums = p.sum(axis=0)
    worst = float(sums[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > 1e-9:
        problem = f"each column of a matrix must add up to 1, not to {worst:g}"
        raise BadInput(problem, "not-normalised", option="matrix", value=worst)
    return p


def binary(p: float) -> Array:
    """Yes or no, answered truly with probability p (Warner 1965)."""
    checks.refuse([checks.of("p", checks.in_range("the probability of a true answer", p, 0, 1))])
    return np.array([[p, 1 - p], [1 - p, p]])


def generalised_response(values: int, epsilon: float) -> Array:
    """The true one of k values with e^epsilon times the probability of any other.

    Kairouz, Oh and Viswanath, Extremal Mechanisms for Local Differential Privacy (2014).
    """
    _refuse(values, epsilon)
    p = np.full((values, values), 1.0)
    np.fill_diagonal(p, math.exp(epsilon))
    return p / (math.exp(epsilon) + values - 1)


def unary(values: int, epsilon: float) -> Array:
    """A bit for each value, all of them flipped with probability 1/(1 + e^(epsilon/2)).

    Two bits tell two values apart, each with half of epsilon. Basic RAPPOR: Erlingsson, Pihur and
    Korolova, RAPPOR (2014).
    """
    _refuse(values, epsilon)
    flipped = 1 / (1 + math.exp(epsilon / 2))
    return _bits(values, 1 - flipped, flipped)


def optimised_unary(values: int, epsilon: float) -> Array:
    """A bit for each value: the true one's is a fair coin, another's is 1 as 1/(1 + e^epsilon).

    Wang, Blocki, Li and Jha, Locally Differentially Private Protocols for Frequency Estimation
    (2017).
    """
    _refuse(values, epsilon)
    return _bits(values, 0.5, 1 / (1 + math.exp(epsilon)))


def local_dp(matrix: Array) -> float:
    """The least epsilon of local differential privacy: max over d, d', o of ln P[o,d]/P[o,d'].

    Infinite where a report is possible with one value and impossible with another.
    """
    return largest_ratio(logarithms(matrix))[0]


def largest_ratio(log_p: Array) -> tuple[float, int, int]:
    """Return the largest log-ratio in a row of logarithms, and its columns d and d'.

    Rows that are impossible with every value are left out.
    """
    possible = log_p[(log_p > -np.inf).any(axis=1)]
    highest, lowest = possible.argmax(axis=1), possible.argmin(axis=1)
    rows = np.arange(len(possible))
    ratios = possible[rows, highest] - possible[rows, lowest]
    # Equal up to rounding are equal: the first of them, whatever the last bits say.
    o = int(np.argmax(ratios >= ratios.max() - 1e-12))
    d, other = int(highest[o]), int(lowest[o])
    if d == other:  # one row, all alike
        other = (d + 1) % log_p.shape[1]
    return float(ratios[o]), d, other


def logarithms(p: Array) -> Array:
    """ln p, and -inf of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def _bits(values: int, true: float, other: float) -> Array:
    """Return the matrix of reports that are numbers, whose bit j is that of value j."""
    if values > WIDEST:
        problem = (
            f"a bit for each of {values} values makes too many reports to enumerate; "
            f"give at most {WIDEST} values"
        )
        raise BadInput(problem, "too-large", option="values", value=values)
    bits = (np.arange(2**values)[:, None] >> np.arange(values)) & 1
    ones = np.where(np.eye(values, dtype=bool), true, other)
    return np.asarray(np.where(bits[:, None], ones, 1 - ones).prod(axis=2))


def _refuse(values: int, epsilon: float) -> None:
    checks.refuse(
        [
            checks.at_least("values", values, 2),
            checks.of(
                "epsilon", checks.in_range("epsilon of a matrix", epsilon, 0, LARGEST, ends="(]")
            ),
        ]
    )
