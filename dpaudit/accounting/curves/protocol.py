"""What a family of curves promises."""

from __future__ import annotations

from typing import Protocol, Union, runtime_checkable

from dpaudit.types import Array, Assumption

Numbers = Union[Array, float]


@runtime_checkable
class Family(Protocol):
    """Curves by step: 0 leaks nothing, `steps` the most that is looked at.

    `parameter` is what a step is called in the field (mu, a noise multiplier, epsilon). All
    others may err, numerically, only towards a smaller bound: a curve below the true one, an
    area above, an epsilon below.
    """

    @property
    def assumption(self) -> Assumption: ...

    @property
    def steps(self) -> int: ...

    def parameter(self, step: int) -> float: ...

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        """f(x), the least false-negative rate at a false-positive rate of x."""
        ...

    def inn(self, parameter: float, u: Numbers) -> Array:
        """In-trials of uniform u, of CDF 1 - f, where out-trials are uniform: small is in."""
        ...

    def area(self, parameter: float) -> float:
        """The largest AUC of any attack, 1 - the integral of f."""
        ...

    def epsilon(self, parameter: float, delta: float) -> float:
        """The epsilon at `delta` of what has this curve; where trials are steps, of all steps."""
        ...

    def __hash__(self) -> int:
        """A family is a value: what takes long is found once for equal ones."""
        ...
