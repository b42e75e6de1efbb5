"""e-process: bets against a claim, which may be looked at after every pair of trials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.estimators import inputs
from dpaudit.estimators.sentences import ASSUMED, confident, sentence
from dpaudit.types import Array, Bound, Counts, Decisions, Outcome

_FRACTIONS = 0.95 / 2.0 ** np.arange(6)
"""Of the largest stake: all are played side by side, because the best is known only afterwards."""


@dataclass(frozen=True)
class EProcess:
    """A bound that may be looked at after every pair of trials, and stopped at will.

    One trial of each world makes a pair: X is the decision on the in-trial, Y that on the
    out-trial, S the decision 'in'. Under (e, d)-DP the wealth W <- W (1 + l (1[X in S] - e^e
    1[Y in S] - d)) with 0 <= l < 1/(e^e + d) does not grow on average, nor does its mirror,
    1[Y not in S] - e^e 1[X not in S] - d; e is refuted as soon as their mean reaches 1/a, and
    stays refuted. The stakes are fixed fractions of the largest, whose mean wealth counts. The
    bound is the largest e on the grid 0, step, ..., highest up to which every point is refuted.
    Assumes nothing: a pair's rule may even be chosen anew from earlier pairs. Ville 1939;
    Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting".

    `bound` takes a whole sequence; `start` gives a game that is shown one pair after another.
    """

    confidence: float = 0.95
    step: float = 0.05
    highest: float = 10.0

    takes: ClassVar[type] = Decisions

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0, 1, ends="()"),
                checks.in_range("step", self.step, 0.001, 1),
                checks.in_range("highest", self.highest, 0, 30),
            ]
        )

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        d = inputs.given("e-process", Decisions, outcome, delta)
        inn, out = np.asarray(d.inn), np.asarray(d.out)
        if inn.ndim != 1 or inn.shape != out.shape or not inn.size:
            raise BadInput(
                "e-process needs one decision of each world in every pair, not "
                f"{inn.shape} in-decisions and {out.shape} out-decisions"
            )
        game = self.start(delta)
        for x, y in zip(inn.tolist(), out.tolist(), strict=True):
            game.show(x, y)
        return game.bound()

    def start(self, delta: float) -> Game:
        """A game without pairs yet."""
        return Game(self, delta)

    def ceiling(self, pairs: int, delta: float) -> float:
        """The largest bound that so many pairs could give: that of no wrong decision at all."""
        checks.refuse([checks.at_least("pairs", pairs, 0)])
        table = self.log_factors(delta)
        return self.last_refuted(self.enough(pairs * table[1, 0]))

    def grid(self) -> Array:
        """The epsilons that are bet against."""
        points = math.floor(self.highest / self.step + 1e-9) + 1
        return np.round(self.step * np.arange(points), 9)

    def log_factors(self, delta: float) -> Array:
        """What a pair multiplies wealth by, as logarithms: [X, Y, bet and its mirror, e, stake]."""
        checks.refuse([checks.in_range("delta", delta, 0, 1, ends="[)")])
        price = np.exp(self.grid())[:, None]
        stake = _FRACTIONS / (price + delta)
        gains = [
            [(x - price * y - delta, (1 - y) - price * (1 - x) - delta) for y in (0, 1)]
            for x in (0, 1)
        ]
        factors: Array = np.log1p(stake * np.array(gains))
        return factors

    def enough(self, log_wealth: Array) -> Array:
        """Which e a wealth refutes: [bet and its mirror, e, stake] to [e]."""
        # Cut off where it would overflow, far above any 1/a.
        mean = np.exp(np.minimum(log_wealth, 700)).mean(axis=(0, 2))
        refuted: Array = mean * (1 - self.confidence) >= 1
        return refuted

    def last_refuted(self, refuted: Array) -> float:
        """The largest e up to which all are refuted; 0 where there is none."""
        count = len(refuted) if refuted.all() else int(np.argmin(refuted))
        return float(self.grid()[max(0, count - 1)])


class Game:
    """The wealth of all bets so far; `show` it a pair, ask for the `bound` at any time."""

    def __init__(self, rules: EProcess, delta: float) -> None:
        self.rules, self.delta = rules, delta
        self.pairs = self.fp = self.fn = 0
        self._factors = rules.log_factors(delta)
        self._log_wealth = np.zeros(self._factors.shape[2:])
        self._refuted = np.zeros(len(rules.grid()), dtype=bool)

    def show(self, inn: Any, out: Any) -> None:
        """One more pair: the decision on its in-trial and on its out-trial, True = says D'."""
        for decision in (inn, out):
            if not isinstance(decision, (bool, np.bool_)):
                raise BadInput(f"a decision must be True or False, not {decision!r}")
        self.pairs += 1
        self.fp += int(out)
        self.fn += int(not inn)
        self._log_wealth += self._factors[int(inn), int(out)]
        self._refuted |= self.rules.enough(self._log_wealth)

    def refuted(self, e: float) -> bool:
        """Whether a point of the grid, the nearest to e, has been refuted."""
        return bool(self._refuted[int(np.argmin(np.abs(self.rules.grid() - e)))])

    def bound(self) -> Bound:
        """What the pairs so far have shown; 0 before the first."""
        epsilon = self.rules.last_refuted(self._refuted)
        n, sure = self.pairs, self.rules.confidence
        return Bound(
            epsilon=epsilon,
            delta=self.delta,
            confidence=sure,
            estimator="e-process",
            assumption="none",
            selection="as given",
            ceiling=self.rules.ceiling(n, self.delta),
            counts=Counts(self.fp, n, self.fn, n) if n else None,
            sentence=sentence(
                confident(sure),
                epsilon,
                self.delta,
                f"{ASSUMED['none']} trials that are independent and rules that were fixed before "
                "their pair was seen, however often one has looked",
            ),
        )
