"""Threshold rules, and the attacks that choose their thresholds on the choosing half."""

from __future__ import annotations

from collections.abc import Sequence, Set
from copy import copy
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, Union

import numpy as np

from dpaudit.attacks.search import search
from dpaudit.attacks.statistics import AND, OR, Expression, Kind, Statistic
from dpaudit.errors import BadInput
from dpaudit.protocols import Attack, Criterion, Rule, Scoring
from dpaudit.types import Array, Known, Observations

Form: TypeAlias = Union[Statistic, Expression, Sequence[Statistic], Set[Statistic]]


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdRule(Rule):
    """Says D' where all (`&`) or any (`|`) statistics exceed their thresholds, strictly.

    The score of a single statistic is the statistic. The score of several is the smallest
    (`&`) or largest (`|`) margin s_i - t_i, each in units of `scales[i]`; it is positive
    exactly where the rule says D'.
    """

    kind: Kind
    names: tuple[str, ...]
    thresholds: tuple[float, ...]
    scales: tuple[float, ...]
    how: str = "given"
    raw: bool = False

    def score(self, features: Array) -> Array:
        if len(self.names) == 1:
            return features[:, 0]
        # An infinite threshold has no distance: the margin is then all or nothing.
        finite = np.isfinite(self.thresholds)
        t = np.where(finite, self.thresholds, 0.0)
        with np.errstate(over="ignore"):
            margins = (features - t) / self.scales
        side = np.where(features > self.thresholds, np.inf, -np.inf)
        return self._joined(np.where(finite, margins, side))

    @property
    def cut(self) -> float:
        return self.thresholds[0] if len(self.names) == 1 else 0.0

    def decide(self, features: Array) -> Array:
        return self._joined(features > self.thresholds)

    def _joined(self, columns: Array) -> Array:
        """The smallest of the columns for `&`, the largest for `|`: of margins and of bools."""
        return np.asarray((np.min if self.kind == AND else np.max)(columns, axis=1))

    def __repr__(self) -> str:
        off = -np.inf if self.kind == AND else np.inf
        parts = [
            f"{name} > {threshold:.6g}"
            for name, threshold in zip(self.names, self.thresholds, strict=True)
            if threshold != off
        ]
        return f" {self.kind} ".join(parts) or ("always" if self.kind == AND else "never")


class ThresholdAttack(Attack):
    """Compares statistics with thresholds, which are chosen on the choosing half.

    An expression fixes the kind of the rule: `mean & inv_std` is searched with `&` alone.
    A set of statistics leaves it open, as the paper does: both kinds are searched.
    """

    def __init__(self, form: Form) -> None:
        self.statistics, self.kinds = _resolved(form)
        if not self.statistics:
            message = "a threshold attack needs at least one statistic"
            raise BadInput(message, "none-given", option="statistics")
        self.needs: frozenset[str] = frozenset().union(*(s.needs for s in self.statistics))
        self.scoring: Scoring = "fixed" if len(self.statistics) == 1 else "margins"

    def features(self, seen: Observations, known: Known) -> Array:
        return np.stack([statistic.compute(seen, known) for statistic in self.statistics], axis=1)

    def raw(self) -> ThresholdAttack:
        same = copy(self)
        same.statistics = tuple(replace(statistic, raw=True) for statistic in self.statistics)
        return same

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> ThresholdRule:
        found = search(features, worlds, self.kinds, criterion)
        return ThresholdRule(
            found.kind,
            tuple(statistic.name for statistic in self.statistics),
            found.thresholds,
            tuple(_spread(column) for column in features.T),
            found.how,
            raw=any(statistic.raw for statistic in self.statistics),
        )

    def __repr__(self) -> str:
        if len(self.kinds) == 1:
            return repr(Expression(self.kinds[0], self.statistics))
        return "{" + ", ".join(map(repr, self.statistics)) + "}"


class StatisticsAttack(ThresholdAttack):
    """A threshold attack whose class names its statistics."""

    form: ClassVar[Form]

    def __init__(self) -> None:
        super().__init__(self.form)


class FixedAttack(Attack):
    """Compares one statistic with 0: nothing is chosen, so that all trials judge."""

    fitted: bool = False
    scoring: Scoring = "fixed"

    def __init__(self, name: str, statistic: Statistic) -> None:
        self._name, self._statistic = name, statistic
        self.needs: frozenset[str] = statistic.needs

    def features(self, seen: Observations, known: Known) -> Array:
        return self._statistic.compute(seen, known)[:, None]

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> ThresholdRule:
        return ThresholdRule(AND, (self._statistic.name,), (0.0,), (1.0,))

    def __repr__(self) -> str:
        return self._name


def _resolved(form: Form) -> tuple[tuple[Statistic, ...], tuple[Kind, ...]]:
    """The statistics in a fixed order, and the kinds of rule to search."""
    if isinstance(form, Statistic):
        return (form,), (AND,)
    if isinstance(form, Expression):
        return form.statistics, (form.kind,)
    # A set's order changes from process to process, and the search breaks ties by order.
    statistics = sorted(form, key=repr) if isinstance(form, Set) else form
    return tuple(statistics), (AND, OR) if len(form) > 1 else (AND,)


def _spread(column: Array) -> float:
    """The interquartile range of the finite values: a unit that outliers do not move."""
    finite = column[np.isfinite(column)]
    if not finite.size:
        return 1.0
    low, high = np.percentile(finite, [25, 75])
    return float(high - low) or 1.0
