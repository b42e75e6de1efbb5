"""One training with many canaries: guesses from scores, and bounds on the number of right ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc, betaincinv, gammaln, logit

from dpaudit.accounting.curves import Family, refuse_zero, symmetric
from dpaudit.accounting.search import last_refuted
from dpaudit.errors import BadInput
from dpaudit.estimators.base import TOSSES, CurveEstimator, GuessesEstimator, level, lower_quantile
from dpaudit.estimators.sentences import COINS, COINS_SEVERAL, confident
from dpaudit.rates import round_scores
from dpaudit.results import Bound, Guesses
from dpaudit.seeds import generator
from dpaudit.types import Adjacency, Array, Curve

PARTS = (1, 2, 4, 8)
"""All canaries, half of them, a quarter and an eighth.

Few guesses are surer ones, and many show more where most are right. The correction for four
numbers costs less than a share of the canaries that would choose one (Gaussian scores, 500 and
1,000 canaries; a share of 20 to 50 %), and needs no argument about a number that follows from what
the model says.
"""

FIXED_BEFOREHAND = "score and number of guesses fixed beforehand"

MOST = 10**6
"""Guesses: an array holds the probability of every number of right ones."""

_SCAN = 17


def count_right(scores: Array, put_in: Array, guesses: int) -> Guesses:
    """Count the right guesses, if half of them are 'in' and the others 'out'.

    `put_in` are the coins by which each canary was put in or left out. Where the guesses end among
    equal scores, a toss decides on which of these canaries they fall; the count is one that
    `SURE` of all tosses reach. Scores are rounded first (see `rates.rounded`).
    """
    levels = round_scores(scores)
    calls = assign_guesses(levels, guesses)
    right = calls == np.where(put_in, 1, -1)
    ends = {levels[calls == 1].min(), *levels[calls == -1].max(keepdims=True, initial=-np.inf)}
    tied = [group for group in (levels == end for end in ends) if len(set(calls[group])) > 1]
    if not tied:
        return Guesses(len(scores), guesses, int(right.sum()))
    tosses = np.sum([_tossed(calls[group], put_in[group]) for group in tied], axis=0)
    certain = int(right[~np.any(tied, axis=0)].sum())
    return Guesses(len(scores), guesses, certain + lower_quantile(tosses), tied=True)


def _tossed(calls: Array, put_in: Array) -> Array:
    """Return the right guesses in each of `TOSSES` tosses of these calls among equal scores."""
    called_in, called_out = int((calls == 1).sum()), int((calls == -1).sum())
    inn, out = int(put_in.sum()), int((~put_in).sum())
    draw = generator(0, "ties", inn, out, called_in, called_out)
    right_in = draw.hypergeometric(inn, out, called_in, TOSSES)
    rest_out, rest_in = out - (called_in - right_in), inn - right_in
    return np.asarray(right_in + draw.hypergeometric(rest_out, rest_in, called_out))


def assign_guesses(scores: Array, guesses: int) -> Array:
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


@dataclass(frozen=True)
class OneRun(GuessesEstimator):
    """One training run with many canaries; assumes nothing about the mechanism.

    Each of m canaries is put in by its own fair coin. r of them are guessed, those with the
    highest scores in and those with the lowest out, their numbers fixed beforehand; v guesses
    are right. With B ~ Bin(r, e^e/(1+e^e)), under (e, d)-DP so many are right with probability
    at most p(e) = P[B >= v] + 2 m d max_{1<=i<=v} P[v-i <= B < v]/i. The bound is
    inf{e : p(e) >= a}; m counts canaries without a guess too. Choosing among several r needs
    other canaries, or a divided by their number. Tied scores are judged as `base.py`
    says. Steinke, Nasr and Jagielski 2023, "Privacy auditing with one (1) training run".
    """

    confidence: float = 0.95

    name = "one-run"

    def _epsilon(self, g: Guesses, delta: float) -> float:
        a, r, v = level(self._a, g.tied), g.guesses, g.correct
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


def is_refuted(epsilon: float, g: Guesses, delta: float, a: float) -> bool:
    """Return whether the bound of these right guesses is above epsilon."""
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


@dataclass(frozen=True)
class OneRunFDP(CurveEstimator, GuessesEstimator):
    """One training run judged against a trade-off curve; assumes its kind.

    Of m canaries, each put in by its own fair coin, c' are guessed and c rightly. A curve f is
    refuted iff r + h > c'/m after: r = a c/m, h = a (c'-c)/m; for i = c-1 ... 0: h' = max(h,
    inv(r)), stop if h' = h, r = min(1, r + i/(c'-i) (h'-h)), h = h'. inv is the inverse of
    1 - f. The bound is the epsilon of the most leaking curve that is refuted. A canary is
    guessed in or out, so that f must hold both ways: of DP-SGD it is the symmetric curve below
    both. Tied scores are judged as `base.py` says. Mahloujifar, Melis and Chaudhuri 2024,
    "Auditing f-differential privacy in one run".
    """

    confidence: float = 0.95
    curve: str | Curve | Family = "gaussian"
    adjacency: Adjacency = "add-remove"

    name = "one-run-fdp"

    def _family(self, delta: float) -> Family:
        return symmetric(super()._family(delta))

    def _epsilon(self, g: Guesses, delta: float) -> float:
        a, curves = level(self._a, g.tied), self._family(delta)
        if curves.assumption != "none":
            refuse_zero(delta)
        step = last_refuted(curves, lambda parameter: refuted_by_curve(curves, parameter, g, a))
        return curves.epsilon(curves.parameter(step), delta)


def refuted_by_curve(curves: Family, parameter: float, g: Guesses, a: float) -> bool:
    """Return whether these right guesses have a probability below a under the curve."""
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


@dataclass(frozen=True)
class GuessNumbers:
    """Each of k numbers of guesses is judged at a/k on all canaries, and the best is taken.

    That any of the k bounds fails has probability a at most, and the best fails only if one of
    them does. Each number is fixed before the scores are seen, and all randomised canaries count.
    """

    numbers: Sequence[int]

    def __post_init__(self) -> None:
        if not self.numbers or min(self.numbers) < 1:
            raise BadInput(
                f"there must be numbers of guesses of at least 1, not {self.numbers}",
                "too-small",
                option="numbers",
                value=self.numbers,
            )

    @classmethod
    def of(cls, canaries: int) -> GuessNumbers:
        """Return the numbers of guesses to try on a number of canaries."""
        return cls(sorted({max(1, canaries // part) for part in PARTS}, reverse=True))

    def each(self, confidence: float) -> float:
        """Return the confidence at which each number is judged."""
        k = len(self.numbers)
        return confidence if k == 1 else 1 - (1 - confidence) / k

    def bound(
        self,
        scores: Array,
        put_in: Array,
        estimator: Callable[[float], GuessesEstimator],
        delta: float,
        confidence: float,
    ) -> Bound:
        """Return the best of the bounds."""
        judge = estimator(self.each(confidence))
        tried = [count_right(scores, put_in, r) for r in self.numbers]
        bounds = [replace(judge.bound(g, delta), rule=rule(g)) for g in tried]
        found = best(bounds, confidence, self._selection(confidence))
        if len(self.numbers) > 1:
            found = replace(found, sentence=found.sentence.replace(COINS, COINS_SEVERAL))
        return replace(found, trials=(int((~put_in).sum()), int(put_in.sum())))

    def ceiling(self, judge: GuessesEstimator, canaries: int, delta: float) -> float:
        """Return the most that any of the numbers could show."""
        return max(judge.ceiling(canaries, r, delta) for r in self.numbers)

    def _selection(self, confidence: float) -> str:
        if len(self.numbers) == 1:
            return FIXED_BEFOREHAND
        *first, last = (f"{r:,}" for r in self.numbers)
        return (
            f"score fixed beforehand; the best of {len(self.numbers)} numbers of guesses that "
            f"were fixed beforehand ({', '.join(first)} and {last}), each at "
            f"{100 * self.each(confidence):.6g} %"
        )


def rule(g: Guesses) -> str:
    """Return the guesses in words."""
    called_in, called_out = halves(g.guesses)
    return f"the {called_in:,} highest scores in, the {called_out:,} lowest out"


def best(bounds: Sequence[Bound], confidence: float, selection: str) -> Bound:
    """Return the best of bounds that all hold at once with this confidence.

    Its ceiling is the highest of theirs: the best could have gone so far.
    """
    _refuse_credible(bounds)
    top = max(bounds, key=lambda bound: bound.epsilon)
    ceiling = max(bound.ceiling for bound in bounds)
    text = top.sentence.replace(confident(top.confidence), confident(confidence))
    return replace(top, confidence=confidence, ceiling=ceiling, selection=selection, sentence=text)


def _refuse_credible(bounds: Sequence[Bound]) -> None:
    """Reject bounds that state no error rate: they cannot be corrected for a choice."""
    for bound in bounds:
        if bound.assumption == "prior":
            raise BadInput(
                f"{bound.estimator} is credible under a prior and states no error rate, so it "
                "cannot be corrected for a choice; use hold-out, or another estimator",
                "no-error-rate",
                option="estimator",
                value=bound.estimator,
            )
