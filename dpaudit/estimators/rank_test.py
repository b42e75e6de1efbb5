"""The exact rank test: the strongest bound on scores, for a known kind of curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpaudit import checks
from dpaudit.accounting.curves import Family, family, last_refuted
from dpaudit.estimators.inputs import CurveEstimator
from dpaudit.estimators.ranking import own_seed, pairs_won, ranks, refuse_empty
from dpaudit.estimators.sentences import NOTHING_TO_CHOOSE, SCORE, confident, of_curve, sentence
from dpaudit.estimators.simulation import Draws, enough, last_rejected
from dpaudit.estimators.ties import level
from dpaudit.types import Adjacency, Array, Bound, Curve, Outcome, Scores

NODES = 2**13
"""Of the quadrature over the lowest out-trial, for the ceiling."""


@dataclass(frozen=True)
class RankTest(CurveEstimator):
    """The Wilcoxon statistic over all pairs of trials; assumes a kind of trade-off curve.

    U counts the pairs in which the in-trial scores higher. Under a curve f it is largest, in
    law, if in-trials have the CDF 1 - f where out-trials are uniform; simulated so with `draws`
    draws, the p-value of a curve is (1 + #{U* >= U})/(draws + 1) and exact for any number of
    trials. The bound is the epsilon of the most leaking curve with p <= 1 - confidence. There
    is no threshold to choose; the score must be fixed without the trials that are judged, and
    trials must be independent. Ties between the worlds are judged as `ties.py` says, so that
    constant scores give 0. Wilcoxon 1945; for trade-off curves by domination, see
    `simulation.py`.

    `curve` is 'gaussian', 'pure' or a claim's curve, of which only the kind is taken: of
    DP-SGD the sampling rate and the steps, which are then trusted.
    """

    curve: str | Curve | Family = "gaussian"
    confidence: float = 0.95
    seed: int = 0
    draws: int = 2000
    adjacency: Adjacency = "add-remove"

    takes = Scores

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0, 1 - 1e-5, ends="(]"),
                checks.at_least("draws", self.draws, 1),
            ]
        )
        family(self.curve, 0.0, self.adjacency)  # refused here, if at all

    @property
    def _a(self) -> float:
        return 1 - self.confidence

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        out, inn = ranks(outcome, "the rank test")
        curves = self._family(delta)
        won, tied = pairs_won(out, inn, self.seed)
        a = level(self._a, tied)

        def exceeds(drawn: Array, uniform: Array, parameter: float) -> Array:
            return wins(drawn, curves.inn(parameter, uniform)) >= won

        seed = own_seed(self.seed, inn)
        draws = Draws(len(out), len(inn), enough(self.draws, a), seed)
        step = last_rejected(curves, exceeds, draws, a)
        ceiling = self.ceiling(len(out), len(inn), delta)
        epsilon = min(ceiling, curves.epsilon(curves.parameter(step), delta))
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="rank-test",
            assumption=self.assumption,
            selection=NOTHING_TO_CHOOSE,
            ceiling=ceiling,
            sentence=sentence(
                confident(self.confidence), epsilon, delta, f"{of_curve(curves)} {SCORE}"
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of worlds wholly apart."""
        refuse_empty(out, inn)
        curves = self._family(delta)
        return curves.epsilon(curves.parameter(most(curves, out, inn, self._a)), delta)

    def _family(self, delta: float) -> Family:
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        return family(self.curve, delta, self.adjacency)


@lru_cache(maxsize=64)
def most(curves: Family, out: int, inn: int, a: float) -> int:
    """The most leaking step under which worlds are wholly apart with probability <= a."""

    def unlikely(parameter: float) -> float:
        with np.errstate(divide="ignore"):
            # Twice the logarithm, which is a number where it is next to 0 and to 1.
            found = np.log(-np.log(apart(curves, parameter, out, inn)))
            return float(found - np.log(-np.log(a)))

    return last_refuted(curves, unlikely)


def apart(curves: Family, parameter: float, out: int, inn: int) -> float:
    """The probability that every in-trial comes before every out-trial under a curve."""
    middles = (np.arange(NODES) + 0.5) / NODES
    lowest = -np.expm1(np.log1p(-middles) / out)
    errors = curves.trade_off(parameter, lowest)
    with np.errstate(divide="ignore"):
        return float(np.exp(inn * np.log1p(-errors)).mean())


def wins(out: Array, inn: Array) -> Array:
    """In each row the pairs in which the in-trial is smaller; rows are in order."""
    lost = [o.searchsorted(i) for o, i in zip(out, inn, strict=True)]
    below = np.array(lost, dtype=np.intp).reshape(inn.shape).sum(axis=1)
    return np.asarray(out.shape[1] * inn.shape[1] - below)
