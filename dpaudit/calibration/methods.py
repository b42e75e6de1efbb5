"""What a way to a number of epsilon is: by what attack, judged how, and what it states."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias

from dpaudit import registry
from dpaudit.accounting.curves import Family
from dpaudit.calibration.simulated import Play
from dpaudit.config.settings import ALL
from dpaudit.estimators.bets import Bets
from dpaudit.estimators.inputs import Checked
from dpaudit.estimators.one_run import guessed
from dpaudit.estimators.selections import HoldOut
from dpaudit.estimators.trials import Trials
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import deciding
from dpaudit.judging.panel import pick
from dpaudit.judging.plan import most_telling
from dpaudit.judging.plan_request import MOST_CANARIES
from dpaudit.protocols import Attack, Estimator
from dpaudit.results import Bound, Counts, Guesses, Outcome
from dpaudit.types import IN, Claim, Curve

Standing: TypeAlias = Literal["bound", "credible", "no bound"]
"""Whether a way states an error rate, one under a prior, or none that it would keep."""


@dataclass(frozen=True)
class Asked:
    """What every way is asked for."""

    delta: float
    confidence: float


class Way(Protocol):
    """How a number of epsilon comes about."""

    @property
    def attack(self) -> str: ...

    @property
    def judged(self) -> str: ...

    @property
    def standing(self) -> Standing: ...

    @property
    def share(self) -> float:
        """Of the error probability that is asked for, what this way may err with."""
        ...

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        """The number; equal seeds give equal ones."""
        ...


@lru_cache
def attack_of(name: str) -> Attack:
    """The attack of a name."""
    made: Attack = registry.make("attacks", name)
    return made


# ----------------------------------------------------------------
# What decides a run: the bound that its verdict goes by, as `judge` and `sequential` have it.


@dataclass(frozen=True)
class AsRun:
    """An attack picked on the choosing half, by its panel's first estimator, at some look.

    Or the best of all attacks, which then share the error (`--primary all`).
    """

    claim: Claim
    curves: Family | None = None
    """In place of the claim's."""
    primary: str = "auto"
    looks: int = 1
    standing: Standing = "bound"

    @property
    def attack(self) -> str:
        return "all" if self.primary == ALL else "picked"

    @property
    def judged(self) -> str:
        if self.looks > 1:
            return f"look {self.looks}, at a/{2**self.looks}"
        return "as --primary all decides" if self.primary == ALL else "as dpaudit run decides"

    @property
    def share(self) -> float:
        return 1.0 if self.looks == 1 else 0.5**self.looks

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        choice = Choice(primary=self.primary, confidence=asked.confidence)
        attacks = choice.fitting(play.seen)
        panels = {
            name: replace(panel, curves=self.curves)
            for name, panel in choice.panels(attacks, self.claim, seed).items()
        }
        trials = _seen(play, attacks)
        deciders, picked = list(attacks), self.primary != ALL
        if picked:
            deciders = [pick(attacks, panels, {n: t.halves()[0] for n, t in trials.items()})]
        surest = deciding(asked.confidence, self.looks, len(deciders))
        found = []
        for name in deciders:
            first = replace(panels[name], names=panels[name].names[:1])
            fixed = first.fix(attacks[name], trials[name], always=picked)
            found += first.bounds(fixed, surest, surest)
        return max(bound.epsilon for bound in found)


@dataclass(frozen=True)
class UntilDecided:
    """What `run --until-decided` prints once all pairs are played.

    Its bound never falls while pairs come in, so that the last one is above the truth exactly
    if any was: the strictest reading of 'at any stopping time'.
    """

    claim: Claim
    curves: Family | None
    attacks: tuple[str, ...]
    estimator: str
    standing: Standing = "bound"
    share: float = 1.0

    @property
    def attack(self) -> str:
        return self.attacks[0] if len(self.attacks) == 1 else "together"

    @property
    def judged(self) -> str:
        return f"until decided, {self.estimator}"

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        key = self.attacks, self.claim.epsilon, self.claim.curve, asked
        bounds = play.once(key, lambda: self._bounds(play, asked))
        return next(b.epsilon for b in bounds if b.estimator == self.estimator)

    def _bounds(self, play: Play, asked: Asked) -> list[Bound]:
        attacks = Choice(self.attacks).fitting(play.seen)
        bets = Bets(attacks, self.claim, asked.confidence, self.curves)
        bets.show(_seen(play, attacks))
        return bets.bounds()


def _seen(play: Play, attacks: Mapping[str, Attack]) -> dict[str, Trials]:
    return {name: play.of(name, attack) for name, attack in attacks.items()}


# ----------------------------------------------------------------
# dpaudit's ways from an attack to a bound: its own code, called as a judgement calls it.
#
# Nothing is done otherwise here but that a bound on counts is computed once for the same counts.


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
    return frozenset(registry.parameters(registry.load("estimators", name)))


@lru_cache
def _kept(name: str, curve: Family | str | None, confidence: float) -> Estimator:
    return _make(name, curve, confidence, 0)


def _make(name: str, curve: Family | str | None, confidence: float, seed: int) -> Estimator:
    made: Estimator = registry.make(
        "estimators", name, confidence=confidence, seed=seed, curve=curve
    )
    return made
