"""What decides a run: the bound that its verdict goes by, as `judge` and `sequential` have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpaudit.accounting.curves import Family
from dpaudit.calibration.plays import Play
from dpaudit.calibration.way import Asked, Standing
from dpaudit.config.settings import ALL
from dpaudit.estimators.bets import Bets
from dpaudit.estimators.trials import Trials
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import deciding
from dpaudit.judging.panel import pick
from dpaudit.protocols import Attack
from dpaudit.types import Bound, Claim


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
