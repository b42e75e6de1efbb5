"""What an attack looks at in a trial: one number, oriented so that larger means more like D'.

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
from dpaudit.rates import round_scores
from dpaudit.types import Array, Known, Observations

Kind: TypeAlias = Literal["&", "|"]
AND: Kind = "&"
OR: Kind = "|"

LEAST = float(np.finfo(float).min)


@dataclass(frozen=True, repr=False)
class Statistic:
    """A named number per trial, and which observations it is computed from."""

    name: str
    needs: frozenset[str]
    formula: Callable[[Observations, Known], Array]
    raw: bool = False
    """Not rounded: an audit of what the low bits of released numbers give away."""

    def compute(self, seen: Observations, known: Known) -> Array:
        """One float per trial, rounded so that floating-point noise cannot separate the worlds.

        Unless it is to be looked at `raw`.

        A diverged model may release NaN. It counts as the least float, the value least like D':
        any fixed value is post-processing, so the bound stays a bound. And so does -inf, which
        as a threshold means that the statistic is switched off; every value must exceed it.
        """
        require(self.needs, seen, self.name)
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.formula(seen, known)
            values = np.asarray(values, float) if self.raw else round_scores(values)
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
            raise BadInput(
                f"({self}) {kind} ({other}) mixes & and |; a rule joins its statistics "
                "either all by & or all by |",
                "mixed-operators",
                option="attack",
                value=kind,
            )
        return Expression(kind, self.statistics + other.statistics)

    def __repr__(self) -> str:
        return f" {self.kind} ".join(map(repr, self.statistics))


Operand: TypeAlias = Union[Statistic, Expression]


def released(name: str) -> Statistic:
    """The number that is released under a name, as it is."""

    def number(seen: Observations, known: Known) -> Array:
        return np.asarray(seen[name], dtype=np.float64)

    return Statistic(name, frozenset({name}), number)


def require(needs: frozenset[str], seen: Observations, who: str) -> None:
    """Refuse observations in which something is missing."""
    if missing := sorted(needs - seen.keys()):
        there = ", ".join(sorted(seen)) or "nothing"
        raise BadInput(
            f"{who} needs {', '.join(missing)} in the observations; there is {there}",
            "missing-observations",
            value=tuple(missing),
        )


def true_class(known: Known, classes: int) -> int:
    """The canary's label, which the adversary knows."""
    if "label" not in known:
        raise BadInput(
            "the adversary must know the canary's label; there is no known 'label'",
            "needs-label",
            option="label",
        )
    label = int(np.asarray(known["label"]).item())
    if not 0 <= label < classes:
        raise BadInput(
            f"the canary's label is {label}, but there are {classes} classes",
            "out-of-range",
            option="label",
            value=label,
        )
    return label
