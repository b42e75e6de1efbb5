"""Numbers of guesses of one run: a few that were fixed beforehand, all judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dpaudit.errors import BadInput
from dpaudit.estimators.base import GuessesEstimator
from dpaudit.estimators.one_run import guessed, halves
from dpaudit.estimators.sentences import COINS, COINS_SEVERAL, confident
from dpaudit.types import Array, Bound, Guesses

PARTS = (1, 2, 4, 8)
"""All canaries, half of them, a quarter and an eighth.

Few guesses are surer ones, and many show more where most are right. The correction for four
numbers costs less than a share of the canaries that would choose one (Gaussian scores, 500 and
1,000 canaries; a share of 20 to 50 %), and needs no argument about a number that follows from what
the model says.
"""

FIXED_BEFOREHAND = "score and number of guesses fixed beforehand"


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
        """Return the numbers that are tried of so many canaries."""
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
        tried = [guessed(scores, put_in, r) for r in self.numbers]
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
