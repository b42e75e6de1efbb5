"""How many canaries of one run to guess: a few numbers that were fixed beforehand, all judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dpaudit.errors import BadInput
from dpaudit.estimators.one_run import guessed, halves
from dpaudit.estimators.selections.hold_out import best
from dpaudit.estimators.sentences import COINS, COINS_SEVERAL
from dpaudit.results import Bound, Guesses, Outcome
from dpaudit.types import Array

PARTS = (1, 2, 4, 8)
"""All canaries, half of them, a quarter and an eighth.

Few guesses are surer ones, and many show more where most are right. The correction for four
numbers costs less than a share of the canaries that would choose one (Gaussian scores, 500 and
1,000 canaries; a share of 20 to 50 %), and needs no argument about a number that follows from what
the model says.
"""

FIXED_BEFOREHAND = "score and number of guesses fixed beforehand"


class OfGuesses(Protocol):
    """An estimator of guesses, which knows what so many could show at most."""

    def bound(self, outcome: Outcome, delta: float) -> Bound: ...

    def ceiling(self, canaries: int, guesses: int, delta: float) -> float: ...


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
        """What is tried of so many canaries."""
        return cls(sorted({max(1, canaries // part) for part in PARTS}, reverse=True))

    def each(self, confidence: float) -> float:
        """At which each number is judged."""
        k = len(self.numbers)
        return confidence if k == 1 else 1 - (1 - confidence) / k

    def bound(
        self,
        scores: Array,
        put_in: Array,
        estimator: Callable[[float], OfGuesses],
        delta: float,
        confidence: float,
    ) -> Bound:
        """The best bound."""
        judge = estimator(self.each(confidence))
        tried = [guessed(scores, put_in, r) for r in self.numbers]
        bounds = [replace(judge.bound(g, delta), rule=rule(g)) for g in tried]
        found = best(bounds, confidence, self._selection(confidence))
        if len(self.numbers) > 1:
            found = replace(found, sentence=found.sentence.replace(COINS, COINS_SEVERAL))
        return replace(found, trials=(int((~put_in).sum()), int(put_in.sum())))

    def ceiling(self, judge: OfGuesses, canaries: int, delta: float) -> float:
        """The most that any of the numbers could show, by what judges each of them."""
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
    """What is guessed, in words."""
    called_in, called_out = halves(g.guesses)
    return f"the {called_in:,} highest scores in, the {called_out:,} lowest out"
