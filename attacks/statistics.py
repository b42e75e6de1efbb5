"""Statistics: one number per trial, oriented so that larger means more like D'.

Statistics are composed the way the paper composes them, and read back as code::

    >>> mean & inv_std          # type 1: says D' where ALL exceed their thresholds
    mean & inv_std
    >>> min_ | max_             # type 2: says D' where ANY exceeds its threshold
    min | max

(Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian Neural
Network, Algorithm 2.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.rates import rounded
from dpaudit.types import Array, Known, Observations

Kind: TypeAlias = Literal["&", "|"]
AND: Kind = "&"
OR: Kind = "|"

LEAST = float(np.finfo(float).min)


@dataclass(frozen=True, repr=False)
class Statistic:
    """A named number per trial, and the observations that it is computed from."""

    name: str
    needs: frozenset[str]
    formula: Callable[[Observations, Known], Array]
    raw: bool = False
    """True if it is not rounded: for an audit of the low bits of released numbers."""

    def compute(self, seen: Observations, known: Known) -> Array:
        """One float per trial, rounded so that floating-point noise cannot separate the worlds.

        It is not rounded if `raw`. A diverged model may release NaN. It counts as the least float,
        the value least like D': any fixed value is post-processing, so the bound stays a bound.
        So does -inf, which as a threshold switches the statistic off; every value must exceed it.
        """
        require(self.needs, seen, self.name)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.formula(seen, known)
            values = np.asarray(values, float) if self.raw else rounded(values)
        return np.nan_to_num(values, nan=LEAST, neginf=LEAST, posinf=np.inf)

    def __and__(self, other: Operand) -> Expression:
        return Expression(AND, (self,)) & other

    def __or__(self, other: Operand) -> Expression:
        return Expression(OR, (self,)) | other

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, repr=False)
class Expression:
    """Statistics joined by ALL (`&`, the paper's type 1) or by ANY (`|`, type 2)."""

    kind: Kind
    statistics: tuple[Statistic, ...]

    def __and__(self, other: Operand) -> Expression:
        return self._joined(AND, other)

    def __or__(self, other: Operand) -> Expression:
        return self._joined(OR, other)

    def _joined(self, kind: Kind, other: Operand) -> Expression:
        if isinstance(other, Statistic):
            other = Expression(kind, (other,))
        if not isinstance(other, Expression):
            return NotImplemented
        if not self.kind == other.kind == kind:
            message = f"({self}) {kind} ({other}) mixes & and |; join all by & or all by |"
            raise BadInput(message, "mixed-operators", option="attack", value=kind)
        return Expression(kind, self.statistics + other.statistics)

    def __repr__(self) -> str:
        return f" {self.kind} ".join(map(repr, self.statistics))


Operand: TypeAlias = Union[Statistic, Expression]


def released(name: str) -> Statistic:
    """The statistic that is a released number as it is."""
    return Statistic(name, frozenset({name}), lambda seen, known: np.asarray(seen[name], float))


def require(needs: frozenset[str], seen: Observations, who: str) -> None:
    """Reject observations without some of these names."""
    if missing := sorted(needs - seen.keys()):
        there = ", ".join(sorted(seen)) or "nothing"
        message = f"{who} needs {', '.join(missing)} in the observations; there is {there}"
        raise BadInput(message, "missing-observations", value=tuple(missing))


def true_class(known: Known, classes: int) -> int:
    """The canary's label, which the adversary knows."""
    if "label" not in known:
        message = "the adversary must know the canary's label; there is no known 'label'"
        raise BadInput(message, "needs-label", option="label")
    label = int(np.asarray(known["label"]).item())
    if not 0 <= label < classes:
        message = f"the canary's label is {label}, but there are {classes} classes"
        raise BadInput(message, "out-of-range", option="label", value=label)
    return label
