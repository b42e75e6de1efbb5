"""Many splits: hold-out over and over, so that no lucky or unlucky half decides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit import checks
from dpaudit.percentages import percent
from dpaudit.protocols import Attack
from dpaudit.seeds import generator
from dpaudit.selections.fixed import Fixed, Maker, criterion, kind, refuse_credible, restated
from dpaudit.selections.hold_out import HoldOut, chooses
from dpaudit.trials import Trials
from dpaudit.types import Bound


@dataclass(frozen=True)
class MultiSplit:
    """The median over random splits of hold-out bounds at a/2.

    Why a/2: let K of m bounds exceed the truth. Each does with probability a/2 at most, so the
    mean of K is m a/2 at most, whatever the dependence between splits of the same trials. If
    the median exceeds the truth, then at least half of them do, K >= m/2, and by Markov's
    inequality P[K >= m/2] <= (m a/2)/(m/2) = a: P[median > truth] <= 2 P[one > truth]. Of an
    even number the upper median is taken, for which the same holds; so the bound is always that
    of one split, with its rule and its counts. Compare Meinshausen, Meier and Bühlmann 2009,
    "p-values for high-dimensional regression".

    A split gives half of the indices, of both worlds, to the choice. Another seed gives other
    splits: it must be settled before anything is seen.
    """

    splits: int = 21

    def __post_init__(self) -> None:
        checks.refuse([checks.at_least("splits", self.splits, 1)])

    def bound(
        self,
        attack: Attack,
        trials: Trials,
        estimator: Maker,
        delta: float,
        confidence: float,
        seed: int,
    ) -> Bound:
        """The bound of the split that is in the middle."""
        each = 1 - (1 - confidence) / 2
        made = estimator(each)
        if not chooses(attack, kind(made)):
            return HoldOut().bound(attack, trials, estimator, delta, confidence)
        draw = generator(seed, "splits", trials.attack)
        bounds = []
        for _ in range(self.splits):
            order = draw.permutation(trials.per_world)
            here = np.isin(trials.indices, order[: (len(order) + 1) // 2])
            rule = trials[here].fit(attack, criterion(made, delta))
            bounds.append(Fixed(rule, trials[~here], "").bound(estimator, delta, each))
        refuse_credible(bounds)
        median = sorted(bounds, key=lambda bound: bound.epsilon)[self.splits // 2]
        words = f"median over {self.splits} random hold-outs, each at {percent(each)}"
        # A median of intervals is none.
        return replace(restated(median, confidence), selection=words, interval=None)
