"""How many trials it takes: the least number that is enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dpaudit.estimators import ClopperPearson, ExactScan

MOST = 10**13
"""Models, which nobody trains."""


class Limited(Protocol):
    """An estimator that knows what so many trials could show at most."""

    def ceiling(self, out: int, inn: int, delta: float) -> float: ...


def least(enough: Callable[[int], bool], most: int, start: int = 1) -> int | None:
    """The least number from `start` on that is enough; None: not even `most`.

    What is enough stays so with more; where that holds but roughly, a number at which it turns.
    """
    low, high = start - 1, start
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(max(1, 2 * high), most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


LIMITED: dict[str, Callable[[float], Limited]] = {
    "clopper-pearson": ClopperPearson,
    "exact-scan": ExactScan,
}
"""By name those whose ceiling depends on nothing but confidence, delta and the trials."""


def models_needed(
    epsilon: float, delta: float, confidence: float, estimator: str = "clopper-pearson"
) -> int | None:
    """The least number of models whose judging half has a ceiling above epsilon.

    Half of the models choose the rule, so that they come in fours. None: more than can be
    trained.
    """
    judge = LIMITED[estimator](confidence)
    n = least(lambda n: judge.ceiling(n, n, delta) > epsilon, MOST // 4)
    return None if n is None else 4 * n
