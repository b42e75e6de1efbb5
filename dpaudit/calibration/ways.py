"""Ways to a number that is printed of epsilon: dpaudit's own, and rules that are no bounds.

dpaudit's ways are its own code, called as a judgement calls it; nothing is done otherwise here
but that a bound on counts is computed once for the same counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias, cast

from scipy.special import log_expit

from dpaudit import registry
from dpaudit.attacks import ThresholdRule
from dpaudit.calibration.guessing import guessed
from dpaudit.calibration.plays import Play
from dpaudit.choice import Choice
from dpaudit.curves import Family
from dpaudit.estimators.checked import Checked
from dpaudit.jury import pick
from dpaudit.protocols import Attack, Estimator
from dpaudit.selections import (
    DKW,
    Bonferroni,
    HoldOut,
    InSample,
    MultiSplit,
    ReversedKFold,
    Selection,
)
from dpaudit.types import Array, Bound, Claim, Counts, Guesses, Outcome, Scores

Standing: TypeAlias = Literal["bound", "credible", "no bound"]
"""Whether a way states an error rate, one under a prior, or none that it would keep."""

FIXED_CUTS = (-0.5, 0.5, 1.5)
"""Released numbers at which Bonferroni's rules cut, written down before anything is drawn."""

SELECTIONS: dict[str, Selection] = {
    "hold-out": HoldOut(),
    "5-fold": ReversedKFold(),
    "splits": MultiSplit(),
    "DKW": DKW(),
    "Bonferroni": Bonferroni(
        [ThresholdRule("&", ("-loss",), (float(log_expit(c)),), (1.0,)) for c in FIXED_CUTS]
    ),
}


@dataclass(frozen=True)
class Asked:
    """What every way is asked for."""

    delta: float
    confidence: float


class Way(Protocol):
    """How a number of epsilon comes about: by what attack, judged how."""

    @property
    def attack(self) -> str: ...

    @property
    def judged(self) -> str: ...

    @property
    def standing(self) -> Standing: ...

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        """The number; equal seeds give equal ones."""
        ...


# ---------------------------------------------------------------- dpaudit's own


@dataclass(frozen=True)
class Selected:
    """An attack, a selection and an estimator, which is given the curve where it asks for one."""

    attack: str
    selection: str
    estimator: str
    curve: Family | str | None
    standing: Standing = "bound"
    all_trials: bool = False
    """Nothing is chosen: the name of the selection would mislead."""

    @property
    def judged(self) -> str:
        return f"{self.estimator}, {'all trials' if self.all_trials else self.selection}"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        attack = _attack(self.attack)

        def maker(confidence: float) -> Estimator:
            made = _made(self.estimator, self.curve, confidence, seed)
            # A band asks an estimator for more than bounds, so it is given the thing itself.
            return made if self.selection == "DKW" else Remembered(self.estimator, made, confidence)

        bound = SELECTIONS[self.selection].bound(
            attack, play.of(self.attack, attack), maker, asked.delta, asked.confidence, seed
        )
        return bound.epsilon


@dataclass(frozen=True)
class AsRun:
    """What decides a run: an attack picked on the choosing half, by its jury's first estimator."""

    claim: Claim
    attack: str = "picked"
    judged: str = "as dpaudit run decides"
    standing: Standing = "bound"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        choice = Choice(confidence=asked.confidence)
        attacks = choice.fitting(play.seen)
        juries = choice.juries(attacks, self.claim, seed)
        trials = {name: play.of(name, attack) for name, attack in attacks.items()}
        picked = pick(attacks, juries, {name: t.halves()[0] for name, t in trials.items()})
        fixed = juries[picked].fix(attacks[picked], trials[picked], always=True)
        decides = replace(juries[picked], names=juries[picked].names[:1])
        return decides.bounds(fixed, asked.confidence, asked.confidence)[0].epsilon


@dataclass(frozen=True)
class OneTraining:
    """One run with many canaries, half of them guessed: a number that is fixed beforehand."""

    estimator: str
    curve: Family | str | None
    attack: str = "released"
    standing: Standing = "bound"

    @property
    def judged(self) -> str:
        return f"{self.estimator}, fixed count"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        made = _made(self.estimator, self.curve, asked.confidence, seed)
        guesses = guessed(*play.run, guesses=play.trials)
        checked = Remembered(self.estimator, made, asked.confidence)
        return checked.bound(guesses, asked.delta).epsilon


class Remembered(Checked):
    """An estimator held to what it was asked, which judges the same counts only once."""

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        if isinstance(outcome, (Counts, Guesses)) and isinstance(self.estimator, Hashable):
            return _once(Checked(self.name, self.estimator, self.confidence), outcome, delta)
        return super().bound(outcome, delta)


@lru_cache(maxsize=2**14)
def _once(checked: Checked, outcome: Outcome, delta: float) -> Bound:
    return checked.bound(outcome, delta)


@lru_cache
def _attack(name: str) -> Attack:
    made: Attack = registry.make("attacks", name)
    return made


def _made(name: str, curve: Family | str | None, confidence: float, seed: int) -> Estimator:
    if "seed" in _asked(name):
        return _make(name, curve, confidence, seed)
    return _kept(name, cast(Hashable, curve), confidence)


@lru_cache
def _asked(name: str) -> frozenset[str]:
    return frozenset(registry.asked(registry.load("estimators", name)))


@lru_cache
def _kept(name: str, curve: Hashable, confidence: float) -> Estimator:
    return _make(name, cast("Family | str | None", curve), confidence, 0)


def _make(name: str, curve: Family | str | None, confidence: float, seed: int) -> Estimator:
    made: Estimator = registry.make(
        "estimators", name, confidence=confidence, seed=seed, curve=curve
    )
    return made


# ---------------------------------------------------------------- what is no bound


@dataclass(frozen=True)
class Estimated:
    """The published estimate: a rule tuned on the very trials that it is scored on."""

    attack: str
    judged: str = "in-sample estimate"
    standing: Standing = "no bound"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        attack = _attack(self.attack)
        trials = play.of(self.attack, attack)
        return InSample().describe(attack, trials, asked.delta).epsilon_in_sample


@dataclass(frozen=True)
class OfScores:
    """Another tool's rule on the scores of the loss, all trials."""

    rule: Callable[[Scores, float, float], float]
    judged: str
    attack: str = "loss"
    standing: Standing = "no bound"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        attack = _attack(self.attack)
        trials = play.of(self.attack, attack)
        return self.rule(trials.split(trials.features[:, 0]), asked.delta, asked.confidence)


@dataclass(frozen=True)
class OfOneRun:
    """Another tool's rule on one run with many canaries."""

    rule: Callable[[Array, Array, float, float], float]
    judged: str
    attack: str = "released"
    standing: Standing = "no bound"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        return self.rule(*play.run, asked.delta, asked.confidence)
