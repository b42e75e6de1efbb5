"""The e-process: bets against a claim, which may be looked at after every pair of trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit import checks
from dpaudit.accounting.curves import PureFamily
from dpaudit.errors import BadInput
from dpaudit.estimators.base import refuse_delta, refuse_other_outcome
from dpaudit.estimators.sentences import ASSUMED, confident, sentence
from dpaudit.protocols import Estimator
from dpaudit.results import Bound, Counts, Decisions, Outcome
from dpaudit.types import Array

FRACTIONS = 0.95 / 2.0 ** np.arange(6)
"""Fractions of the largest stake, played side by side: the best is known only afterwards."""


@dataclass(frozen=True)
class EProcess(Estimator):
    """A bound that holds after every pair of trials, whenever you stop; assumes nothing.

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

    takes = Decisions

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.in_range("confidence", self.confidence, 0, 1, ends="()"),
                checks.in_range("step", self.step, 0.001, 1),
                checks.in_range("highest", self.highest, 0, 30),
            ]
        )

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        refuse_delta(delta)
        d = refuse_other_outcome("e-process", Decisions, outcome)
        inn, out = np.asarray(d.inn), np.asarray(d.out)
        if inn.ndim != 1 or inn.shape != out.shape or not inn.size:
            raise BadInput(
                "e-process needs one decision of each world in every pair, not "
                f"{inn.shape} in-decisions and {out.shape} out-decisions",
                "shape-mismatch",
                value=(inn.shape, out.shape),
            )
        game = self.start(delta)
        for x, y in zip(inn.tolist(), out.tolist(), strict=True):
            game.show(x, y)
        return game.bound()

    def start(self, delta: float, attacks: int = 1, scored: bool = False) -> Game:
        """Return a game without pairs; several attacks begin with an equal share of the wealth.

        Where trials are `scored`, too, a third of it is bet on the in-trial's higher score, as
        `AUCBet` does against the curve of (e, d) itself: no threshold can be chosen badly there.
        """
        return Game(self, delta, attacks, scored)

    def ceiling(self, pairs: int, delta: float) -> float:
        """Return the bound of a number of pairs without a wrong decision, the largest possible."""
        checks.refuse([checks.whole("pairs", pairs, 0, 2**53)])
        table = self.log_factors(delta)
        return self.last_refuted(self.enough(pairs * table[1, 0]))

    def grid(self) -> Array:
        """Return the epsilons that are bet against."""
        points = math.floor(self.highest / self.step + 1e-9) + 1
        return np.round(self.step * np.arange(points), 9)

    def log_factors(self, delta: float) -> Array:
        """Return the log factors of wealth of a pair: [X, Y, bet and its mirror, e, stake]."""
        refuse_delta(delta)
        price = np.exp(self.grid())[:, None]
        stake = FRACTIONS / (price + delta)
        gains = [
            [(x - price * y - delta, (1 - y) - price * (1 - x) - delta) for y in (0, 1)]
            for x in (0, 1)
        ]
        factors: Array = np.log1p(stake * np.array(gains))
        return factors

    def log_orders(self, delta: float) -> Array:
        """Return those of a bet on the order of the scores: [lost, tied or won, e, stake]."""
        area = np.array([PureFamily(delta).area(e) for e in self.grid()])[:, None]
        orders: Array = np.log1p(FRACTIONS * (np.array([0.0, 0.5, 1.0])[:, None, None] / area - 1))
        return orders

    def enough(self, log_wealth: Array) -> Array:
        """Return the mask of e that a wealth refutes: [bet and its mirror, e, stake] to [e]."""
        # Cut off where it would overflow, far above any 1/a.
        mean = np.exp(np.minimum(log_wealth, 700)).mean(axis=(0, 2))
        refuted: Array = mean * (1 - self.confidence) >= 1
        return refuted

    def last_refuted(self, refuted: Array) -> float:
        """Return the largest e up to which all are refuted; 0 if there is none."""
        count = len(refuted) if refuted.all() else int(np.argmin(refuted))
        return float(self.grid()[max(0, count - 1)])


class Game:
    """The wealth of all bets so far; `show` it a pair, ask for the `bound` at any time.

    A mean of such wealths does not grow on average either, so that several attacks bet side by
    side and none of them has to be picked.
    """

    def __init__(
        self, rules: EProcess, delta: float, attacks: int = 1, scored: bool = False
    ) -> None:
        self.rules, self.delta = rules, delta
        self.pairs = self.fp = self.fn = 0
        self._bets = np.zeros(attacks, dtype=np.int64)
        self._factors = rules.log_factors(delta)
        self._orders = rules.log_orders(delta) if scored else None
        sides, *rest = self._factors.shape[2:]
        self._log_wealth = np.zeros((attacks, sides + scored, *rest))
        self._refuted = np.zeros(len(rules.grid()), dtype=bool)

    def show(self, inn: Any, out: Any) -> None:
        """Add a pair: the decision on its in-trial and on its out-trial, True = says D'."""
        self.show_all([(inn, out)])

    def show_all(self, pair: Sequence[Sequence[Any] | None]) -> None:
        """Add a pair of several attacks; None from one that does not bet on it.

        Each gives the arguments of `show` and, where trials are scored, 1 if the in-trial scores
        higher, 0.5 at a tie, 0 else.
        """
        for attack, of_pair in zip(range(len(self._bets)), pair, strict=True):
            if of_pair is not None:
                self._bet(attack, *of_pair)
        self.pairs += 1
        self._refuted |= self.rules.enough(_together(self._log_wealth))

    def _bet(self, attack: int, inn: Any, out: Any, *won: float) -> None:
        for decision in (inn, out):
            if not isinstance(decision, (bool, np.bool_)):
                raise BadInput(
                    f"a decision must be True or False, not {decision!r}",
                    "wrong-type",
                    option="decision",
                    value=decision,
                )
        self._bets[attack] += 1
        self.fp += int(out)
        self.fn += int(not inn)
        self._log_wealth[attack] += self._of_pair(inn, out, *won)

    def _of_pair(self, inn: bool, out: bool, *won: float) -> Array:
        """Return the log factors of an attack's wealth of a pair: [bets, e, stake]."""
        factors: Array = self._factors[int(inn), int(out)]
        if self._orders is None:
            return factors
        (share,) = won
        return np.concatenate([factors, self._orders[int(2 * share)][None]])

    def refuted(self, e: float) -> bool:
        """Return whether the point of the grid nearest to e has been refuted."""
        return bool(self._refuted[self._nearest(e)])

    def wealth(self, e: float) -> float:
        """Return the present value of a stake of 1 against the point of the grid nearest to e."""
        here = self._log_wealth[:, :, self._nearest(e)]
        return float(np.exp(np.minimum(here, 700)).mean())

    def bound(self) -> Bound:
        """Return the bound of the pairs so far; 0 before the first."""
        epsilon = self.rules.last_refuted(self._refuted)
        n, sure = self.pairs, self.rules.confidence
        alone = n > 0 and len(self._bets) == 1 and n == self._bets[0]
        return Bound(
            epsilon=epsilon,
            delta=self.delta,
            confidence=sure,
            estimator="e-process",
            assumption="none",
            selection="as given",
            ceiling=self.ceiling(self._bets),
            counts=Counts(self.fp, n, self.fn, n) if alone else None,
            sentence=sentence(
                confident(sure),
                epsilon,
                self.delta,
                f"{ASSUMED['none']} trials that are independent and rules that were fixed before "
                "their pair was seen, however often one has looked",
            ),
        )

    def ceiling(self, bets: Array) -> float:
        """Return the bound if each attack had made this number of bets and none were wrong."""
        right = self._of_pair(True, False, *([] if self._orders is None else [1.0]))
        best = bets[:, None, None, None] * right
        return self.rules.last_refuted(self.rules.enough(_together(best)))

    def _nearest(self, e: float) -> int:
        return int(np.argmin(np.abs(self.rules.grid() - e)))


def _together(log_wealth: Array) -> Array:
    """Join the bets of all attacks: they count like a bet and its mirror."""
    return log_wealth.reshape(-1, *log_wealth.shape[2:])
