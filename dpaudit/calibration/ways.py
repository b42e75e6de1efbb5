"""dpaudit's ways from an attack to a bound: its own code, called as a judgement calls it.

Nothing is done otherwise here but that a bound on counts is computed once for the same counts.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from dpaudit import registry
from dpaudit.accounting.curves import Family
from dpaudit.calibration.plays import Play
from dpaudit.calibration.way import Asked, Standing, attack_of
from dpaudit.estimators.checked import Checked
from dpaudit.estimators.guesses import guessed
from dpaudit.estimators.selections import HoldOut
from dpaudit.judging.plan import most_telling
from dpaudit.judging.plan_request import MOST_CANARIES
from dpaudit.protocols import Estimator
from dpaudit.types import IN, Bound, Claim, Counts, Curve, Guesses, Outcome

PURE = "pure"
"""The curve of (epsilon, delta) itself, by which an estimator assumes nothing."""


@dataclass(frozen=True)
class Selected:
    """An attack and an estimator, which is given the curve where it asks for one."""

    attack: str
    estimator: str
    curve: Family | str | None
    standing: Standing = "bound"
    all_trials: bool = False
    """Nothing is chosen, so that no half is held out."""
    share: float = 1.0

    @property
    def judged(self) -> str:
        if self.curve != PURE:
            return f"{self.estimator}, {'all trials' if self.all_trials else 'hold-out'}"
        return f"{self.estimator}, {'pure curve' if self.all_trials else 'pure, hold-out'}"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        attack = attack_of(self.attack)

        def maker(confidence: float) -> Estimator:
            made = _made(self.estimator, self.curve, confidence, seed)
            return Remembered(self.estimator, made, confidence)

        trials = play.of(self.attack, attack)
        return HoldOut().bound(attack, trials, maker, asked.delta, asked.confidence).epsilon


@dataclass(frozen=True)
class OneTraining:
    """One run with many canaries, of which as many are guessed as a run with this claim takes."""

    estimator: str
    curve: Family | str | None
    claim: Claim
    attack: str = "released"
    standing: Standing = "bound"
    share: float = 1.0

    @property
    def judged(self) -> str:
        return f"{self.estimator}, fixed count"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        made = _made(self.estimator, self.curve, asked.confidence, seed)
        scores, coins = play.run
        stated = self.claim.epsilon, self.claim.delta, self.claim.curve
        guesses = guessed(scores, coins == IN, number(*stated, len(coins), asked.confidence))
        checked = Remembered(self.estimator, made, asked.confidence)
        return checked.bound(guesses, asked.delta).epsilon


@lru_cache
def number(
    epsilon: float, delta: float, curve: Curve | None, canaries: int, confidence: float
) -> int:
    """How many canaries a run with this claim guesses; of more than can be planned the same share.

    Asked once: every repetition takes the same.
    """
    planned = min(canaries, MOST_CANARIES)
    claim = Claim(epsilon, delta, curve=curve)
    return most_telling(claim, planned, confidence) * canaries // planned


class Remembered(Checked):
    """An estimator held to what it was asked, which judges the same counts only once."""

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        if isinstance(outcome, (Counts, Guesses)) and isinstance(self.estimator, Hashable):
            return _once(Checked(self.name, self.estimator, self.confidence), outcome, delta)
        return super().bound(outcome, delta)


@lru_cache(maxsize=2**14)
def _once(checked: Checked, outcome: Outcome, delta: float) -> Bound:
    return checked.bound(outcome, delta)


def _made(name: str, curve: Family | str | None, confidence: float, seed: int) -> Estimator:
    if "seed" in _asked(name):
        return _make(name, curve, confidence, seed)
    return _kept(name, curve, confidence)


@lru_cache
def _asked(name: str) -> frozenset[str]:
    return frozenset(registry.asked(registry.load("estimators", name)))


@lru_cache
def _kept(name: str, curve: Family | str | None, confidence: float) -> Estimator:
    return _make(name, curve, confidence, 0)


def _make(name: str, curve: Family | str | None, confidence: float, seed: int) -> Estimator:
    made: Estimator = registry.make(
        "estimators", name, confidence=confidence, seed=seed, curve=curve
    )
    return made
