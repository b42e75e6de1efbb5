"""Scores in pairs: a closed form for their AUC, and bets on it, pair after pair.

Both hold also where trials depend on earlier ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtri

from dpaudit import checks
from dpaudit.accounting.curves import Family, family
from dpaudit.accounting.search import first_above, last_refuted
from dpaudit.estimators.base import SURE, CurveEstimator, level, refuse_delta
from dpaudit.estimators.e_process import FRACTIONS
from dpaudit.estimators.ranks import ranks, refuse_empty
from dpaudit.estimators.sentences import APART, PAIRS, confident, of_curve, sentence
from dpaudit.rates import upper_rate
from dpaudit.results import NOTHING_TO_CHOOSE, Bound, Outcome, Scores
from dpaudit.types import Adjacency, Array, Curve


@dataclass(frozen=True)
class PairedAUC(CurveEstimator):
    """The share of pairs with a higher in-trial score, tested against the AUC of a curve.

    Trials are paired by their index; of n pairs the in-trial scores higher in k, so that the
    AUC is at least Beta.ppf(a; k, n-k+1) (Clopper and Pearson 1934). No attack has a larger one
    than 1 - the integral of f: Phi(mu/sqrt 2) for a Gaussian curve, 1 - (1-d)^2/(1+e^eps) for
    (eps, d), the area by the accountant for DP-SGD. One-sided: an AUC below one half gives 0.
    A pair's score may be learned from earlier pairs, and pairs may share all but privacy noise.
    Ties are judged as `base.py` says, so that constant scores give 0; the pairing must not be
    chosen.
    """

    curve: str | Curve | Family = "gaussian"
    confidence: float = 0.95
    adjacency: Adjacency = "add-remove"

    name = "paired-auc"
    takes = Scores
    rests_on = PAIRS

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        out, inn = ranks(outcome, self.name)
        pairs = min(len(out), len(inn))
        lost, tied = int(np.sum(inn[:pairs] < out[:pairs])), int(np.sum(inn[:pairs] == out[:pairs]))
        if tied:
            # So many of the tied pairs, at most, are lost by SURE of all tosses.
            lost += tied - int(np.searchsorted(bdtr(np.arange(tied + 1), tied, 0.5), 1 - SURE))
        ceiling = self.ceiling(len(out), len(inn), delta)
        found = self._epsilon(lost, pairs, delta, level(self._a, tied > 0))
        return self._bound(found, ceiling, delta, selection=NOTHING_TO_CHOOSE)

    def ceiling(self, out: int, inn: int, delta: float) -> float:
        """Return the bound of a number of trials without a lost pair, the largest possible."""
        refuse_empty(out, inn)
        return self._epsilon(0, min(out, inn), delta, self._a)

    def _epsilon(self, lost: int, pairs: int, delta: float, a: float) -> float:
        return _of_area(self._family(delta), 1 - float(upper_rate(lost, pairs, a)), delta)


def _of_area(curves: Family, area: float, delta: float) -> float:
    """Return the epsilon of the most leaking curve whose largest AUC is below this one."""
    # As quantiles, in which the area of most families is nearly straight.
    at_least = float(ndtri(area))
    step = last_refuted(curves, lambda p: at_least - float(ndtri(curves.area(p))))
    return curves.epsilon(curves.parameter(step), delta)


SEEN = (
    f"{APART}, and scores that were fixed before their pair was seen, however often one has looked"
)

PRECISION = 1e-9
"""Precision of the refuted areas, from below."""

_LOSS = np.log1p(-FRACTIONS)


class AUCBet:
    """A bound from scores in pairs that may be looked at after every pair, and stopped at will.

    No attack under a curve scores the in-trial of a pair higher with a larger probability than
    A, the curve's largest AUC. So the wealth W <- W (1 + l (1[in > out] - A)), 0 <= l < 1/A,
    does not grow on average, and a curve is refuted as soon as the wealth reaches 1/a; a tie counts
    as one half, which keeps the mean, so that no coin is needed. The
    stakes are fixed fractions of 1/A, whose mean wealth counts. A pair then multiplies it by
    1 - c + c 1[in > out]/A: the less the larger A is, so that whatever refutes one area refutes
    all below. The areas that are refuted at any time are therefore those up to one, and the
    bound is the epsilon of the most leaking curve within them. Ville 1939; Waudby-Smith and
    Ramdas 2024, "Estimating means of bounded random variables by betting".

    `show` it a pair, ask for the `bound` at any time; several `attacks` begin with an equal share
    of the wealth. `curve` is one that the paired AUC takes.
    """

    def __init__(
        self,
        delta: float,
        curve: str | Curve | Family = "gaussian",
        confidence: float = 0.95,
        adjacency: Adjacency = "add-remove",
        attacks: int = 1,
    ) -> None:
        refuse_delta(delta)
        checks.refuse([checks.in_range("confidence", confidence, 0, 1, ends="()")])
        self.delta, self.confidence = delta, confidence
        self.curves = family(curve, delta, adjacency)
        self.least = 0.5
        """The largest AUC is above this; one half at least, where nothing leaks."""
        self._bets = np.zeros(attacks, dtype=np.int64)
        self._won, self._tied = (np.zeros(attacks, dtype=np.int64) for _ in range(2))

    def show(self, won: Sequence[float | None]) -> None:
        """Add a pair: 1 where its in-trial scores higher, 0.5 at a tie, 0 else, for each attack.

        None from an attack that does not bet on this pair.
        """
        for attack, share in zip(range(len(self._bets)), won, strict=True):
            if share is not None:
                self._bets[attack] += 1
                self._won[attack] += share == 1
                self._tied[attack] += share == 0.5
        self.least = max(self.least, self._refuted(self._won, self._tied, self._bets, self.least))

    def wealth(self, area: float) -> float:
        """Return what a stake of 1 against curves of an area has become by now."""
        return math.exp(min(700.0, self._log_wealth(self._won, self._tied, self._bets, area)))

    def first_above(self, epsilon: float) -> float:
        """Return the area of the least leaking curve of the family whose epsilon is above this one.

        1, which cannot be refuted, where the family has none.
        """
        step = first_above(self.curves, epsilon, self.delta)
        return self.curves.area(self.curves.parameter(step)) if step <= self.curves.steps else 1.0

    def could_refute(self, area: float, pairs: int) -> bool:
        """Return whether a number of pairs, if all attacks won them all, would refute an area."""
        return self._flawless(np.full_like(self._bets, pairs)) > area

    def bound(self) -> Bound:
        """Return the bound of the pairs so far; 0 before the first."""
        epsilon, sure = self._epsilon(self.least), self.confidence
        ceiling = self._epsilon(max(self.least, self._flawless(self._bets)))
        return Bound(
            epsilon=epsilon,
            delta=self.delta,
            confidence=sure,
            estimator="auc-bet",
            assumption=self.curves.assumption,
            selection="as given",
            ceiling=max(epsilon, ceiling),
            sentence=sentence(
                confident(sure), epsilon, self.delta, f"{of_curve(self.curves)} {SEEN}"
            ),
        )

    def _flawless(self, bets: Array) -> float:
        """Return the area up to which all are refuted if every bet is won."""
        return self._refuted(bets, 0 * bets, bets, 0.5)

    def _refuted(self, won: Array, tied: Array, bets: Array, low: float) -> float:
        """Return the area up to which these won and tied pairs refute all areas, or `low`."""
        enough = -math.log(1 - self.confidence)
        if self._log_wealth(won, tied, bets, low) < enough:
            return low
        high = 1.0
        while high - low > PRECISION:
            middle = (low + high) / 2
            if self._log_wealth(won, tied, bets, middle) >= enough:
                low = middle
            else:
                high = middle
        return low

    def _log_wealth(self, won: Array, tied: Array, bets: Array, area: float) -> float:
        win, tie = (np.log1p(FRACTIONS * (share / area - 1)) for share in (1.0, 0.5))
        lost = bets - won - tied
        log_wealth = np.outer(lost, _LOSS) + np.outer(won, win) + np.outer(tied, tie)
        top = float(log_wealth.max())
        return top + math.log(np.exp(log_wealth - top).mean())

    def _epsilon(self, least: float) -> float:
        return _of_area(self.curves, least, self.delta)
