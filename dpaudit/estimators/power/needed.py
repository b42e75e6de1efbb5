"""How many trials it takes: the least number that is enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.types import NOTHING_TO_CHOOSE, Bound, Claim

MOST = 10**13
"""Models, which nobody trains."""


class Limited(Protocol):
    """An estimator that knows what so many trials could show at most."""

    def ceiling(self, out: int, inn: int, delta: float) -> float: ...


def least(
    enough: Callable[[int], bool], most: int, start: int = 1, growth: float = 2
) -> int | None:
    """The least number from `start` on that is enough; None: not even `most`.

    What is enough must stay so until it is `growth` times as much, not beyond; where that holds
    but roughly, as of a chance that rises like a saw's teeth, a number at which it turns.
    """
    low, high = start - 1, start
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(max(high + 1, int(growth * high)), most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


LIMITED: dict[str, Callable[[float], Limited]] = {
    "clopper-pearson": ClopperPearson,
    "exact-scan": ExactScan,
}
"""By name those whose ceiling depends on nothing but confidence, delta and the trials."""


def models_needed(claim: Claim, bound: Bound) -> int | None:
    """The least number of models that would have a ceiling above the claim.

    Judged as the bound was: on all models, which come in twos, or on the half that did not
    choose its rule. None: more than can be trained.
    """
    judge = LIMITED[bound.estimator](bound.confidence)
    share = 2 if bound.selection == NOTHING_TO_CHOOSE else 4
    n = least(lambda n: judge.ceiling(n, n, claim.delta) > claim.epsilon, MOST // share)
    return None if n is None else share * n
