"""Ways to numbers that are no bounds: the published estimate, and rules of other tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpaudit.calibration.plays import Play
from dpaudit.calibration.way import Asked, Standing, attack_of
from dpaudit.estimators.selections import InSample
from dpaudit.types import Array, Scores


@dataclass(frozen=True)
class Estimated:
    """The published estimate: a rule tuned on the very trials that it is scored on."""

    attack: str
    judged: str = "in-sample estimate"
    standing: Standing = "no bound"
    share: float = 1.0

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        attack = attack_of(self.attack)
        trials = play.of(self.attack, attack)
        return InSample().describe(attack, trials, asked.delta).epsilon_in_sample


@dataclass(frozen=True)
class OfScores:
    """Another tool's rule on the scores of the loss, all trials."""

    rule: Callable[[Scores, float, float], float]
    judged: str
    attack: str = "loss"
    standing: Standing = "no bound"
    share: float = 1.0

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        trials = play.of(self.attack, attack_of(self.attack))
        return self.rule(trials.split(trials.features[:, 0]), asked.delta, asked.confidence)


@dataclass(frozen=True)
class OfOneRun:
    """Another tool's rule on one run with many canaries."""

    rule: Callable[[Array, Array, float, float], float]
    judged: str
    attack: str = "released"
    standing: Standing = "no bound"
    share: float = 1.0

    def epsilon(self, play: Play, asked: Asked, seed: int) -> float:
        return self.rule(*play.run, asked.delta, asked.confidence)
