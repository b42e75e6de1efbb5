"""A family of curves of which only some are looked at, so that an accountant computes few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.accounting.curves import Family, Numbers
from dpaudit.types import Array, Assumption

SIZE, REACH = 56, 1.5
"""How many curves an accountant is asked for, and up to how many times the true epsilon."""


@dataclass(frozen=True)
class Tabulated:
    """Some steps of a family, in their order; the first is 0, no leak.

    A bound under it is the same rounded down to the table: the most leaking curve of these that
    is refuted, and never above the last. It is above the truth exactly if that of the whole
    family is, as long as the first step beyond the truth is in the table, because all curves
    below a refuted one are.
    """

    family: Family
    kept: tuple[int, ...]

    @classmethod
    def beyond(
        cls,
        family: Family,
        epsilon: float,
        delta: float,
        size: int = SIZE,
        reach: float = REACH,
    ) -> Tabulated:
        """Evenly to `reach` times the true epsilon, with the first step that is above it."""
        first = _first_above(family, epsilon, delta)
        end = _first_above(family, reach * epsilon or 2.0, delta)
        even = np.linspace(0, end, size).astype(int).tolist()
        return cls(family, tuple(sorted({*even, first})))

    @property
    def assumption(self) -> Assumption:
        return self.family.assumption

    @property
    def steps(self) -> int:
        return len(self.kept) - 1

    def parameter(self, step: int) -> float:
        return self.family.parameter(self.kept[step])

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return self.family.trade_off(parameter, x)

    def inn(self, parameter: float, u: Numbers) -> Array:
        return self.family.inn(parameter, u)

    def area(self, parameter: float) -> float:
        return self.family.area(parameter)

    def epsilon(self, parameter: float, delta: float) -> float:
        return self.family.epsilon(parameter, delta)


def _first_above(family: Family, epsilon: float, delta: float) -> int:
    """The first step whose curve leaks more."""
    low, high = 0, family.steps
    while high - low > 1:
        middle = (low + high) // 2
        if family.epsilon(family.parameter(middle), delta) > epsilon:
            high = middle
        else:
            low = middle
    return high
