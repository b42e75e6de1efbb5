"""The exact scan: all thresholds at once, with nothing assumed and nothing to pay for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.accounting.curves import Pure
from dpaudit.estimators.rank_test import own_seed, ranks, refuse_empty
from dpaudit.estimators.sentences import ASSUMED, SCORE, confident, sentence
from dpaudit.estimators.simulation import Draws, enough, last_rejected
from dpaudit.protocols import Estimator
from dpaudit.rates import log_ratio, upper_rate
from dpaudit.results import Bound, Outcome, Scores
from dpaudit.types import Array

ALL_THRESHOLDS = "all thresholds at once"
"""The selection of its bounds."""

LEVEL = 0.05
"""Of the naive bounds whose maximum is taken; the statistic is the same at any confidence."""

EQUAL = 1e-9
"""A simulated maximum that falls short by so little counts as reached."""


@dataclass(frozen=True)
class ExactScan(Estimator):
    """The best Clopper-Pearson bound over all thresholds, its selection accounted for.

    T is the maximum over all thresholds of the naive 95 % bound ln((1-d-U0)/U1) or
    ln((1-d-U1)/U0). It cannot fall when an in-score overtakes an out-score, so that of all
    (epsilon, d)-DP mechanisms it is largest, in law, under the curve of (epsilon, d) itself;
    simulated so with `draws` draws, p = (1 + #{T* >= T})/(draws + 1), and the bound is the
    largest epsilon with p <= 1 - confidence. Assumes nothing but independent trials and a score
    that was fixed without them. Only thresholds between distinct scores count: T is then no
    larger than with any order of tied trials, and constant scores give 0. The proof is that of
    `simulation.py`.
    """

    confidence: float = 0.95
    seed: int = 0
    draws: int = 2000

    takes = Scores

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0, 1 - 1e-5, ends="(]"),
                checks.at_least("draws", self.draws, 1),
            ]
        )

    @property
    def _a(self) -> float:
        return 1 - self.confidence

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        out, inn = ranks(outcome, "the exact scan")
        ceiling = self.ceiling(len(out), len(inn), delta)
        epsilon = min(ceiling, self._epsilon(out, inn, delta))
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="exact-scan",
            assumption="none",
            selection=ALL_THRESHOLDS,
            ceiling=ceiling,
            sentence=sentence(
                confident(self.confidence), epsilon, delta, f"{ASSUMED['none']} {SCORE}"
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """ln((t-d)/(1-t)), t = a^(1/(n0+n1)): no method that assumes nothing can give more.

        Randomized response of that epsilon has no error in any trial with probability a.
        """
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        refuse_empty(out, inn)
        log_t = math.log(self._a) / (out + inn)
        t, wrong = math.exp(log_t), -math.expm1(log_t)
        return max(0.0, math.log((t - delta) / wrong)) if t > delta else 0.0

    def _epsilon(self, out: Array, inn: Array, delta: float) -> float:
        corners = Corners.of(out, inn, delta)
        if corners is None:
            return 0.0
        curves = Pure(delta)

        def exceeds(drawn: Array, uniform: Array, parameter: float) -> Array:
            # The in-trials in order are those of the uniforms in order: no more are needed.
            met = curves.inn(parameter, uniform[:, corners.inn]) < drawn[:, corners.out]
            return np.asarray(met.any(axis=1))

        seed = own_seed(self.seed, inn)
        draws = Draws(len(out), len(inn), enough(self.draws, self._a), seed)
        return curves.parameter(last_rejected(curves, exceeds, draws, self._a))


@dataclass(frozen=True)
class Corners:
    """What two worlds in order must meet for their T to reach that of the trials.

    For some i, the in-trial of rank `inn[i]` among its own lies before the out-trial of rank
    `out[i]`; then there is a threshold with out[i] false positives and few enough false
    negatives.
    """

    out: Array
    inn: Array

    @classmethod
    def of(cls, out: Array, inn: Array, delta: float) -> Corners | None:
        """From the ranks of the trials; None where any order at all would do."""
        u0 = upper_rate(np.arange(len(out) + 1), len(out), LEVEL / 2)
        u1 = upper_rate(np.arange(len(inn) + 1), len(inn), LEVEL / 2)
        # From the highest score down: between two out-trials the best threshold is the lower.
        # An in-trial that is tied with an out-trial is missed with it.
        missed = np.append(np.searchsorted(np.sort(inn), np.sort(out)[::-1], side="right"), 0)
        reached = float(log_ratio(u0, u1[missed], delta).max()) - EQUAL
        if reached == -math.inf:
            return None
        # Solved for U1, in either direction.
        limit = np.maximum(
            (1 - delta - u0) * math.exp(-reached), 1 - delta - u0 * math.exp(reached)
        )
        may_miss = np.searchsorted(u1, limit, side="right") - 1
        if may_miss[-1] >= 0 or may_miss[0] == len(inn):
            return None
        # Of several numbers of false positives that allow as many misses the largest will do.
        last = np.append(np.diff(may_miss) < 0, False) & (may_miss >= 0)
        places = np.flatnonzero(last)
        return cls(out=places, inn=len(inn) - may_miss[places] - 1)
