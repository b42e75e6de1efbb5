"""Methods that state a bound: dpaudit's own code, called as a judgement calls it.

Nothing is done differently here, except that a bound on counts is computed once for equal counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Protocol, TypeAlias

from dpaudit import registry
from dpaudit.accounting.curves import Family
from dpaudit.calibration.simulated import SimulatedRun
from dpaudit.config.settings import ALL
from dpaudit.estimators.base import CheckedEstimator
from dpaudit.estimators.bets import Bets
from dpaudit.estimators.hold_out import HoldOut, chooses
from dpaudit.estimators.one_run import count_right
from dpaudit.estimators.trials import Trials
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import deciding_confidence
from dpaudit.judging.panel import outcome_kind, pick_attack
from dpaudit.judging.plan import best_guess_count
from dpaudit.judging.plan_request import MOST_CANARIES
from dpaudit.protocols import Attack, Estimator
from dpaudit.results import Assumption, Bound, Counts, Guesses, Outcome
from dpaudit.types import IN, Claim, Curve

Standing: TypeAlias = Literal["bound", "credible", "no bound"]
"""The status of a number: a stated error rate, one under a prior, or none."""

PURE = "pure"
"""The curve of (epsilon, delta) itself, by which an estimator assumes nothing."""


@dataclass(frozen=True)
class BoundSettings:
    """The delta and the confidence that every method is given."""

    delta: float
    confidence: float


class Method(Protocol):
    """A method that gives a number of epsilon: an attack, how it is judged, and its standing."""

    @property
    def attack(self) -> str: ...

    @property
    def judged(self) -> str: ...

    @property
    def standing(self) -> Standing: ...

    @property
    def share(self) -> float:
        """The share of the error probability that this method may err with."""
        ...

    def epsilon(self, run: SimulatedRun, target: BoundSettings, seed: int) -> float:
        """Return the number; equal seeds give equal ones."""
        ...


@lru_cache
def attack_of(name: str) -> Attack:
    """Return the attack of a name."""
    made: Attack = registry.make("attacks", name)
    return made


def _trials(run: SimulatedRun, attacks: Mapping[str, Attack]) -> dict[str, Trials]:
    return {name: run.of(name, attack) for name, attack in attacks.items()}


@dataclass(frozen=True)
class AsRun:
    """The bound that decides a run: an attack picked on the choosing half, at some look.

    It is judged by its panel's first estimator. With `--primary all` it is the best of all
    attacks, which share the error. `curves` take the place of the claim's.
    """

    claim: Claim
    curves: Family | None = None
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

    def epsilon(self, run: SimulatedRun, target: BoundSettings, seed: int) -> float:
        choice = Choice(primary=self.primary, confidence=target.confidence)
        attacks = choice.fitting(run.seen)
        panels = {
            name: replace(panel, curves=self.curves)
            for name, panel in choice.panels(attacks, self.claim, seed).items()
        }
        trials = _trials(run, attacks)
        deciders, picked = list(attacks), self.primary != ALL
        if picked:
            deciders = [pick_attack(attacks, panels, trials)]
        surest = deciding_confidence(target.confidence, self.looks, len(deciders))
        found = []
        for name in deciders:
            first = replace(panels[name], names=panels[name].names[:1])
            fixed = first.fix(attacks[name], trials[name], always=picked)
            found += first.bounds(fixed, surest, surest)
        return max(bound.epsilon for bound in found)


@dataclass(frozen=True)
class UntilDecided:
    """The bound that `run --until-decided` prints after all pairs.

    It never falls while pairs come in, so that the last one is above the truth exactly if any
    was: the strictest reading of 'at any stopping time'.
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

    def epsilon(self, run: SimulatedRun, target: BoundSettings, seed: int) -> float:
        key = self.attacks, self.claim.epsilon, self.claim.curve, target
        bounds = run.once(key, lambda: self._bounds(run, target))
        return next(b.epsilon for b in bounds if b.estimator == self.estimator)

    def _bounds(self, run: SimulatedRun, target: BoundSettings) -> list[Bound]:
        attacks = Choice(self.attacks).fitting(run.seen)
        bets = Bets(attacks, self.claim, target.confidence, self.curves)
        bets.show(_trials(run, attacks))
        return bets.bounds()


@dataclass(frozen=True)
class Selected:
    """An attack and an estimator, which is given the curve if it has a choice of curves."""

    attack: str
    estimator: str
    curve: Family | str | None
    share: float = 1.0

    @property
    def judged(self) -> str:
        everything = not chooses(attack_of(self.attack), outcome_kind(self.estimator))
        if self.curve != PURE:
            return f"{self.estimator}, {'all trials' if everything else 'hold-out'}"
        return f"{self.estimator}, {'pure curve' if everything else 'pure, hold-out'}"

    @property
    def standing(self) -> Standing:
        return "credible" if assumption_of(self.estimator) == "prior" else "bound"

    def epsilon(self, run: SimulatedRun, target: BoundSettings, seed: int) -> float:
        def maker(confidence: float) -> Estimator:
            return RememberingEstimator.of(self.estimator, self.curve, confidence, seed)

        attack = attack_of(self.attack)
        trials = run.of(self.attack, attack)
        return HoldOut().bound(attack, trials, maker, target.delta, target.confidence).epsilon


@dataclass(frozen=True)
class OneTraining:
    """One training with many canaries, of which a run with this claim fixes the guesses."""

    estimator: str
    curve: Family | str | None
    claim: Claim
    attack: str = "released"
    standing: Standing = "bound"
    share: float = 1.0

    @property
    def judged(self) -> str:
        return f"{self.estimator}, fixed count"

    def epsilon(self, run: SimulatedRun, target: BoundSettings, seed: int) -> float:
        scores, coins = run.one_training
        stated = self.claim.epsilon, self.claim.delta, self.claim.curve
        guesses = count_right(scores, coins == IN, number(*stated, len(coins), target.confidence))
        made = RememberingEstimator.of(self.estimator, self.curve, target.confidence, seed)
        return made.bound(guesses, target.delta).epsilon


@lru_cache
def number(
    epsilon: float, delta: float, curve: Curve | None, canaries: int, confidence: float
) -> int:
    """Return how many canaries a run with this claim guesses, the same in every repetition.

    Of more canaries than can be planned it is the same share.
    """
    planned = min(canaries, MOST_CANARIES)
    claim = Claim(epsilon, delta, curve=curve)
    return best_guess_count(claim, planned, confidence) * canaries // planned


def assumption_of(estimator: str) -> Assumption:
    """Return what every bound of an estimator assumes that has no choice of curves."""
    stated = registry.load("estimators", estimator).assumption
    return stated if isinstance(stated, str) else "none"  # type: ignore[return-value]


class RememberingEstimator(CheckedEstimator):
    """A checked estimator that judges the same counts only once."""

    @classmethod
    def of(
        cls, name: str, curve: Family | str | None, confidence: float, seed: int
    ) -> RememberingEstimator:
        """Make the estimator of this name."""
        return cls(name, _make(name, curve, confidence, seed), confidence)

    def bound(self, outcome: Outcome, delta: float) -> Bound:
        if isinstance(outcome, (Counts, Guesses)) and isinstance(self.estimator, Hashable):
            checked = CheckedEstimator(self.name, self.estimator, self.confidence)
            return _once(checked, outcome, delta)
        return super().bound(outcome, delta)


@lru_cache(maxsize=2**14)
def _once(checked: CheckedEstimator, outcome: Outcome, delta: float) -> Bound:
    return checked.bound(outcome, delta)


def _make(name: str, curve: Family | str | None, confidence: float, seed: int) -> Estimator:
    settings: dict[str, Any] = {"confidence": confidence, "seed": seed, "curve": curve}
    made: Estimator = registry.make("estimators", name, **settings)
    return made
