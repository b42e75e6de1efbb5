"""One run against a whole trade-off curve: more is shown, and more is assumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dpaudit.curves import Family, Gaussian, last_refuted
from dpaudit.estimators import inputs
from dpaudit.estimators.one_run import COINS
from dpaudit.estimators.sentences import confident, sentence
from dpaudit.types import Assumption, Bound, Guesses, Outcome


@dataclass(frozen=True)
class OneRunFDP:
    """One training run judged against a trade-off curve; assumes a Gaussian one.

    Of m canaries, each put in by its own fair coin, c' are guessed and c rightly. A curve f is
    refuted iff r + h > c'/m after: r = a c/m, h = a (c'-c)/m; for i = c-1 ... 0: h' = max(h,
    inv(r)), stop if h' = h, r = min(1, r + i/(c'-i) (h'-h)), h = h'. The bound is the epsilon
    of the largest mu whose curve is refuted. Delta must be above 0. Mahloujifar, Melis and
    Chaudhuri 2024, "Auditing f-differential privacy in one run".

    `family` is of symmetric curves; inv is the inverse of 1 - f.
    """

    confidence: float = 0.95
    family: Family = field(default_factory=Gaussian)

    takes: ClassVar[type] = Guesses

    def __post_init__(self) -> None:
        inputs.sure(self.confidence)

    @property
    def assumption(self) -> Assumption:
        """That of the curves."""
        return self.family.assumption

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        g = self._given(outcome, delta)
        epsilon = self._epsilon(g, delta)
        return Bound(
            epsilon=epsilon,
            delta=delta,
            confidence=self.confidence,
            estimator="one-run-fdp",
            assumption=self.assumption,
            selection="as given",
            ceiling=self.ceiling(g.canaries, g.guesses, delta),
            sentence=sentence(
                confident(self.confidence),
                epsilon,
                delta,
                f"a mechanism whose trade-off curve is {_CURVES[self.assumption]}, {COINS}",
            ),
        )

    def ceiling(self, canaries: int, guesses: int, delta: float) -> float:
        """The largest bound that so many guesses could give: that of no wrong one."""
        return self._epsilon(self._given(Guesses(canaries, guesses, guesses), delta), delta)

    def _given(self, outcome: Outcome, delta: float) -> Guesses:
        g = inputs.given("one-run-fdp", Guesses, outcome, delta)
        inputs.positive_delta("one-run-fdp", delta)
        return g

    def _epsilon(self, g: Guesses, delta: float) -> float:
        a = 1 - self.confidence
        step = last_refuted(self.family, lambda parameter: refuted(self.family, parameter, g, a))
        return self.family.epsilon(self.family.parameter(step), delta)


_CURVES: dict[Assumption, str] = {
    "none": "this one",
    "gaussian": "Gaussian",
    "accountant": "the accountant's",
    "prior": "this one",
}


def refuted(family: Family, parameter: float, g: Guesses, a: float) -> bool:
    """Whether so many right guesses have a probability below a under the curve."""
    share = g.guesses / g.canaries
    r = a * g.correct / g.canaries
    h = a * (g.guesses - g.correct) / g.canaries
    for i in range(g.correct - 1, -1, -1):
        larger = max(h, float(family.inn(parameter, r)))
        # Neither falls again, so the sum that refutes may be reached before the end.
        if larger == h or r + h > share:
            break
        r = min(1.0, r + i / (g.guesses - i) * (larger - h))
        h = larger
    return r + h > share
