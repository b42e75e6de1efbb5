"""One run: many canaries in one training, and how many of them were guessed rightly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv, gammaln, logit

from dpaudit.errors import BadInput
from dpaudit.estimators import inputs
from dpaudit.estimators.sentences import ASSUMED, COINS, confident, sentence
from dpaudit.estimators.ties import level
from dpaudit.protocols import Estimator
from dpaudit.types import Array, Bound, Guesses, Outcome

MOST = 10**6
"""Guesses: an array holds the probability of every number of right ones."""

_SCAN = 17


@dataclass(frozen=True)
class OneRun(Estimator):
    """One training run with many canaries; assumes nothing of the mechanism.

    Each of m canaries is put in by its own fair coin. r of them are guessed, those with the
    highest scores in and those with the lowest out, their numbers fixed beforehand; v guesses
    are right. With B ~ Bin(r, e^e/(1+e^e)), under (e, d)-DP so many are right with probability
    at most p(e) = P[B >= v] + 2 m d max_{1<=i<=v} P[v-i <= B < v]/i. The bound is
    inf{e : p(e) >= a}; m counts canaries without a guess too. Choosing among several r needs
    other canaries, or a divided by their number. Tied scores are judged as `ties.py`
    says. Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run".
    """

    confidence: float = 0.95

    takes = Guesses

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        g = inputs.given("one-run", Guesses, outcome, delta)
        epsilon = self._epsilon(g, delta)
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="one-run",
            assumption="none",
            selection="as given",
            ceiling=self.ceiling(g.canaries, g.guesses, delta),
            guesses=g,
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"{ASSUMED['none']} {COINS}",
            ),
        )

    def ceiling(self, canaries: int, guesses: int, delta: float) -> float:
        """The largest bound that so many guesses could give: that of no wrong one."""
        flawless = Guesses(canaries=canaries, guesses=guesses, correct=guesses)
        return self._epsilon(inputs.given("one-run", Guesses, flawless, delta), delta)

    def _epsilon(self, g: Guesses, delta: float) -> float:
        a, r, v = level(1 - self.confidence, g.tied), g.guesses, g.correct
        if v == 0:
            return 0.0
        # Where P[B >= v] alone reaches a: the bound at delta 0, and never below that at another.
        pure = float(logit(betaincinv(v, r - v + 1, a)))
        if delta == 0 or pure <= 0:
            return max(0.0, pure)
        if r > MOST:
            raise BadInput(
                f"one-run takes at most {MOST:,} guesses where delta is not 0, not {r:,}",
                "too-large",
                option="guesses",
                value=r,
            )
        p = _PValue(r, v, 2 * g.canaries * delta)
        # p grows with e wherever v lies above the mode of B, so at any confidence of use; the
        # scan from below finds the first crossing at any other.
        scan = np.linspace(0.0, pure, _SCAN)
        first = next((i for i, e in enumerate(scan) if p(float(e)) >= a), _SCAN - 1)
        if first == 0:
            return 0.0
        low, high = float(scan[first - 1]), float(scan[first])
        while high - low > 1e-8 * max(1.0, high):
            middle = (low + high) / 2
            low, high = (low, middle) if p(middle) >= a else (middle, high)
        return low


def refuted(epsilon: float, g: Guesses, delta: float, a: float) -> bool:
    """Whether the bound of so many right guesses is above epsilon."""
    return g.correct > 0 and _PValue(g.guesses, g.correct, 2 * g.canaries * delta)(epsilon) < a


class _PValue:
    """p(e) of v right guesses among r, where `slack` is 2 m d."""

    def __init__(self, r: int, v: int, slack: float) -> None:
        self.r, self.v, self.slack = r, v, slack
        self.k: Array = np.arange(v - 1, -1, -1)
        self.choose = gammaln(r + 1) - gammaln(self.k + 1) - gammaln(r - self.k + 1)

    def __call__(self, e: float) -> float:
        right, wrong = -np.logaddexp(0, -e), -np.logaddexp(0, e)
        below = np.exp(self.choose + self.k * right + (self.r - self.k) * wrong)
        # P[v-i <= B < v] / i for i = 1, 2, ..., v
        average = np.cumsum(below) / np.arange(1, self.v + 1)
        tail = betainc(self.v, self.r - self.v + 1, np.exp(right))
        return float(tail + self.slack * average.max())
