"""Private logistic regression got wrong, one line at a time, and what audits find of it.

Every mutant has a correct twin: the same data, the same claim, the same number of learners.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

from dpaudit.papers.ensemble.canary import ASIDE, BACK
from dpaudit.papers.ensemble.logistic_regression import ObjectivePerturbation, gradient, minimise
from dpaudit.papers.ensemble.unit_rows import Rows, normalise_rows
from dpaudit.seeds import generator
from dpaudit.types import Array

N, LAM = 200, 0.005


class Unchecked(Rows):
    """Rows of any length."""

    def __post_init__(self) -> None:
        pass


class Approximate(ObjectivePerturbation):
    """The minimum is not exact: ten steps of descent from the minimum without noise.

    The noise then moves it by ten steps of ||b||/n, and not by up to ||b||/(n Lambda).
    """

    def minimise(self, rows: Rows, lam: float, b: Array) -> Array:
        w = np.repeat(minimise(rows, lam)[None], len(b), axis=0)
        for _ in range(10):
            w = w - gradient(rows, lam, b, w)
        return w


class Coordinates(ObjectivePerturbation):
    """The noise has Laplace coordinates, so that its density falls with ||b||_1, not ||b||_2.

    The gradients' sum moves by up to 2 sqrt(d) in that norm.
    """

    def draw(self, rate: float, d: int, draws: Sequence[np.random.Generator]) -> Array:
        return np.stack([draw.laplace(scale=1 / rate, size=d) for draw in draws])

    def length(self, b: Array) -> Array:
        return np.abs(b).sum(axis=1)


@dataclass(frozen=True)
class Case:
    """Neighbouring data, a claim, and who learns from them: a mutant beside its correct twin."""

    name: str
    flaw: str
    mutant: ObjectivePerturbation
    out: Rows
    inn: Rows
    twin: ObjectivePerturbation
    twin_out: Rows
    twin_inn: Rows


def corner(n: int, d: int, turned: bool = False) -> tuple[Rows, Rows]:
    """The canary `corner` and its crowd in R^d; turned, so that no coordinate is the larger one."""
    axes = hadamard(d) / np.sqrt(d) if turned else np.eye(d)
    both = []
    for side in (ASIDE, -ASIDE):
        x = np.repeat(axes[:1], n, axis=0)
        x[0] = BACK * axes[0] + side * axes[1]
        both.append(Rows(x, np.ones(n)))
    return both[0], both[1]


def flipped(n: int, d: int, longest: float = 1.0) -> tuple[Rows, Rows]:
    """Points on a sphere of such a radius, of which the first has the other label in D'."""
    x = longest * normalise_rows(generator(0, "mutants", "flipped").standard_normal((n, d)))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    other = np.concatenate([-y[:1], y[1:]])
    kind = Rows if longest <= 1 else Unchecked
    return kind(x, y), kind(x, other)


def cases() -> list[Case]:
    """Every mutant with the data that suit it."""
    plain, turned = corner(N, 2), corner(N, 16, turned=True)
    flaws = {kind: (kind.__doc__ or "").split(":")[0] for kind in (Approximate, Coordinates)}
    return [
        Case(
            "approximate minimum",
            flaws[Approximate],
            Approximate(2.0, LAM),
            *plain,
            ObjectivePerturbation(2.0, LAM),
            *plain,
        ),
        Case(
            "unnormalised rows",
            "Rows are up to 10 long, and nobody looks.",
            ObjectivePerturbation(2.0, LAM),
            *flipped(N, 2, longest=10),
            ObjectivePerturbation(2.0, LAM),
            *flipped(N, 2),
        ),
        Case(
            "coordinate-wise Laplace noise",
            flaws[Coordinates],
            Coordinates(4.0, LAM),
            *turned,
            ObjectivePerturbation(4.0, LAM),
            *turned,
        ),
    ]
