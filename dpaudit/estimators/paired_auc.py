"""Paired AUC: a closed form for scores, also where trials depend on earlier ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtri

from dpaudit import checks
from dpaudit.accounting.curves import Family, family, last_refuted
from dpaudit.estimators.inputs import CurveEstimator
from dpaudit.estimators.ranking import ranks, refuse_empty
from dpaudit.estimators.sentences import NOTHING_TO_CHOOSE, PAIRS, confident, of_curve, sentence
from dpaudit.estimators.ties import SURE, level
from dpaudit.rates import upper_rate
from dpaudit.types import Adjacency, Bound, Curve, Outcome, Scores


@dataclass(frozen=True)
class PairedAUC(CurveEstimator):
    """How often the in-trial of a pair scores higher, against the largest AUC of a curve.

    Trials are paired by their index; of n pairs the in-trial scores higher in k, so that the
    AUC is at least Beta.ppf(a; k, n-k+1) (Clopper and Pearson 1934). No attack has a larger one
    than 1 - the integral of f: Phi(mu/sqrt 2) for a Gaussian curve, 1 - (1-d)^2/(1+e^eps) for
    (eps, d), the area by the accountant for DP-SGD. One-sided: an AUC below one half gives 0.
    A pair's score may be learned from earlier pairs, and pairs may share all but privacy noise.
    Ties are judged as `ties.py` says, so that constant scores give 0; the pairing must not be
    chosen.

    `curve` is 'gaussian', 'pure' (assumes nothing) or a claim's curve, of which only the kind
    is taken: of DP-SGD the sampling rate and the steps, which are then trusted.
    """

    curve: str | Curve | Family = "gaussian"
    confidence: float = 0.95
    adjacency: Adjacency = "add-remove"

    takes = Scores

    def __post_init__(self) -> None:
        checks.refuse([checks.in_range("confidence", self.confidence, 0, 1, ends="()")])
        family(self.curve, 0.0, self.adjacency)  # refused here, if at all

    @property
    def _a(self) -> float:
        return 1 - self.confidence

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        out, inn = ranks(outcome, "paired AUC")
        pairs = min(len(out), len(inn))
        lost, tied = int(np.sum(inn[:pairs] < out[:pairs])), int(np.sum(inn[:pairs] == out[:pairs]))
        if tied:
            # So many of the tied pairs, at most, are lost by SURE of all tosses.
            lost += tied - int(np.searchsorted(bdtr(np.arange(tied + 1), tied, 0.5), 1 - SURE))
        ceiling = self.ceiling(len(out), len(inn), delta)
        epsilon = min(ceiling, self._epsilon(lost, pairs, delta, level(self._a, tied > 0)))
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="paired-auc",
            assumption=self.assumption,
            selection=NOTHING_TO_CHOOSE,
            ceiling=ceiling,
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"{of_curve(family(self.curve, delta, self.adjacency))} {PAIRS}",
            ),
        )

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """The largest bound that so many trials could give: that of no pair lost."""
        refuse_empty(out, inn)
        return self._epsilon(0, min(out, inn), delta, self._a)

    def _epsilon(self, lost: int, pairs: int, delta: float, a: float) -> float:
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        curves = family(self.curve, delta, self.adjacency)
        least = 1 - float(upper_rate(lost, pairs, a))
        # As quantiles, in which the area of most families is nearly straight.
        at_least = float(ndtri(least))
        step = last_refuted(curves, lambda p: at_least - float(ndtri(curves.area(p))))
        return curves.epsilon(curves.parameter(step), delta)
