"""One run against a whole trade-off curve: more is shown, and more is assumed."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.accounting.curves import Family, family, last_refuted, symmetrised
from dpaudit.estimators import inputs
from dpaudit.estimators.inputs import CurveEstimator
from dpaudit.estimators.sentences import COINS, confident, of_curve, sentence
from dpaudit.estimators.ties import level
from dpaudit.types import Adjacency, Bound, Curve, Guesses, Outcome


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
        step = last_refuted(curves, lambda parameter: refuted(curves, parameter, g, a))
        return curves.epsilon(curves.parameter(step), delta)


def refuted(curves: Family, parameter: float, g: Guesses, a: float) -> bool:
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
