"""Populations by name, as a user writes them: `blended`, `binary:0.9,0.6`, `grr:2`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.local.matrices import binary, generalised, optimised_unary, unary
from dpaudit.local.population import Population
from dpaudit.registry import unknown
from dpaudit.types import Array

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
