"""Guesses of one run from scores: the highest were in, the lowest out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv, gammaln, logit

from dpaudit.accounting.curves import Family, family, last_refuted, symmetrised
from dpaudit.errors import BadInput
from dpaudit.estimators import inputs
from dpaudit.estimators.inputs import TOSSES, CurveEstimator, level, reached
from dpaudit.estimators.sentences import ASSUMED, COINS, confident, of_curve, sentence
from dpaudit.protocols import Estimator
from dpaudit.rates import round_scores
from dpaudit.results import Bound, Guesses, Outcome
from dpaudit.seeds import generator
from dpaudit.types import Adjacency, Array, Curve


def guessed(scores: Array, put_in: Array, guesses: int) -> Guesses:
    """Count the right guesses, if half of them are 'in' and the others 'out'.

    `put_in` are the coins by which each canary was put in or left out. Where the guesses end among
    equal scores, a toss decides on which of these canaries they fall; the count is one that
    `ties.SURE` of all tosses reach. Scores are rounded first (see `rates.round_scores`).
    """
    levels = round_scores(scores)
    calls = called(levels, guesses)
    right = calls == np.where(put_in, 1, -1)
    ends = {levels[calls == 1].min(), *levels[calls == -1].max(keepdims=True, initial=-np.inf)}
    tied = [group for group in (levels == end for end in ends) if len(set(calls[group])) > 1]
    if not tied:
        return Guesses(len(scores), guesses, int(right.sum()))
    tosses = np.sum([_tossed(calls[group], put_in[group]) for group in tied], axis=0)
    certain = int(right[~np.any(tied, axis=0)].sum())
    return Guesses(len(scores), guesses, certain + reached(tosses), tied=True)


def _tossed(calls: Array, put_in: Array) -> Array:
    """Return the right guesses in each of `TOSSES` tosses of these calls among equal scores."""
    called_in, called_out = int((calls == 1).sum()), int((calls == -1).sum())
    inn, out = int(put_in.sum()), int((~put_in).sum())
    draw = generator(0, "ties", inn, out, called_in, called_out)
    right_in = draw.hypergeometric(inn, out, called_in, TOSSES)
    rest_out, rest_in = out - (called_in - right_in), inn - right_in
    return np.asarray(right_in + draw.hypergeometric(rest_out, rest_in, called_out))


def called(scores: Array, guesses: int) -> Array:
    """Return the guess on each canary: 1 in, -1 out, 0 none; equal scores keep their order."""
    called_in, called_out = halves(guesses)
    order = np.argsort(scores, kind="stable")
    calls = np.zeros(len(scores), dtype=int)
    calls[order[:called_out]] = -1
    calls[order[len(order) - called_in :]] = 1
    return calls


def halves(guesses: int) -> tuple[int, int]:
    """Return how many canaries are called in and out."""
    return guesses - guesses // 2, guesses // 2


# ----------------------------------------------------------------
# One run: many canaries in one training, and how many of them were guessed rightly.


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


# ----------------------------------------------------------------
# One run against a whole trade-off curve: more is shown, and more is assumed.


@dataclass(frozen=True)
class OneRunFDP(CurveEstimator):
    """One training run judged against a trade-off curve; assumes its kind.

    Of m canaries, each put in by its own fair coin, c' are guessed and c rightly. A curve f is
    refuted iff r + h > c'/m after: r = a c/m, h = a (c'-c)/m; for i = c-1 ... 0: h' = max(h,
    inv(r)), stop if h' = h, r = min(1, r + i/(c'-i) (h'-h)), h = h'. inv is the inverse of
    1 - f. The bound is the epsilon of the most leaking curve that is refuted. A canary is
    guessed in or out, so that f must hold both ways: of DP-SGD it is the symmetric curve below
    both. Tied scores are judged as `ties.py` says. Mahloujifar, Melis and Chaudhuri 2024,
    "Auditing f-differential privacy in one run".

    `curve` is 'gaussian', 'pure' (assumes nothing) or a claim's curve, of which only the kind
    is taken: of DP-SGD the sampling rate and the steps, which are then trusted.
    """

    confidence: float = 0.95
    curve: str | Curve | Family = "gaussian"
    adjacency: Adjacency = "add-remove"

    takes = Guesses

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)
        family(self.curve, 0.0, self.adjacency)  # refused here, if at all

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        g = inputs.given("one-run-fdp", Guesses, outcome, delta)
        ceiling = self.ceiling(g.canaries, g.guesses, delta)
        epsilon = min(ceiling, self._epsilon(g, delta))
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="one-run-fdp",
            assumption=self.assumption,
            selection="as given",
            ceiling=ceiling,
            guesses=g,
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"{of_curve(self._family(delta))} {COINS}",
            ),
        )

    def ceiling(self, canaries: int, guesses: int, delta: float) -> float:
        """The largest bound that so many guesses could give: that of no wrong one."""
        flawless = Guesses(canaries, guesses, guesses)
        return self._epsilon(inputs.given("one-run-fdp", Guesses, flawless, delta), delta)

    def _family(self, delta: float) -> Family:
        return symmetrised(family(self.curve, delta, self.adjacency))

    def _epsilon(self, g: Guesses, delta: float) -> float:
        a, curves = level(1 - self.confidence, g.tied), self._family(delta)
        if curves.assumption != "none":
            inputs.positive_delta("one-run-fdp", delta)
        step = last_refuted(curves, lambda parameter: refuted_by_curve(curves, parameter, g, a))
        return curves.epsilon(curves.parameter(step), delta)


def refuted_by_curve(curves: Family, parameter: float, g: Guesses, a: float) -> bool:
    """Whether so many right guesses have a probability below a under the curve."""
    share = g.guesses / g.canaries
    r = a * g.correct / g.canaries
    h = a * (g.guesses - g.correct) / g.canaries
    for i in range(g.correct - 1, -1, -1):
        larger = max(h, float(curves.inn(parameter, r)))
        # Neither falls again, so the sum that refutes may be reached before the end.
        if larger == h or r + h > share:
            break
        r = min(1.0, r + i / (g.guesses - i) * (larger - h))
        h = larger
    return r + h > share
