"""What is trained to ask whether Bayesian networks leak more: canaries, noise and where it starts.

Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian Neural Network,
train the paper's CNN on CIFAR-10 with four canaries. Here it is digits, where thousands of models
take minutes, and few models of that CNN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpaudit.config import Config
from dpaudit.config.settings import Judging
from dpaudit.seeds import derive
from reproductions.made import data_file

CANARIES = ("random", "adv-random", "maxloss", "adv-maxloss")
"""The paper's data sets 1 to 4."""

SAMPLES = 1_000
"""T, the passes of MC dropout: as many as in the paper."""

DIGITS: Mapping[str, Any] = {"network": "mlp", "epochs": 10, "lr": 2.0}
"""Accuracy near 87 %, and a leak that outsiders see: more of both than cnn-small has."""

CIFAR: Mapping[str, Any] = {"network": "cnn-paper", "size": 1_000, "steps": 40, "lr": 0.6}
"""The paper's network and batches of 256, on 1,000 of its 50,000 records for 40 of 11,700 steps."""

CRAFTED: Mapping[str, Any] = {
    "network": "mlp",
    "adversary": "worst-case",
    "batch": "full",
    "lr": 2.0,
}
"""The worst-case adversary's start and its 10 full batches, with dropout, which it leaves out.

At its own rate of 0.03 models move so little that the passes' randomness hides it; at this one
mean and deviation of the passes move as much as the output without dropout.
"""


@dataclass(frozen=True)
class Game:
    """One canary, trained in one way: how much noise, from where, and how many models."""

    data: str
    training: str
    canary: str
    models: int
    given: Mapping[str, Any]

    @property
    def name(self) -> str:
        """As `--only` takes it."""
        return f"{self.data} {self.training} {self.canary}"

    @property
    def folder(self) -> str:
        """Where its journal is kept."""
        return f"{self.name} {self.models}".replace(" ", "_")

    def config(self) -> Config:
        """The configuration of its run."""
        common = {"canary": self.canary, "models": self.models, "samples": SAMPLES}
        judged = {"attacks": list(Judging.attacks)}
        # No seed serves two games: the same luck in all of them would look like a finding.
        seed = derive(0, "Bayesian networks", self.name) >> 32
        return Config.from_dict(
            {"dropout": 0.5, **where(self.data), **self.given, **common, **judged, "seed": seed}
        )

    def scaled(self, scale: float) -> Game:
        """The same with fewer models; so many that each half of a world has two."""
        return replace(self, models=max(8, 4 * round(self.models * scale / 4)))


def where(data: str) -> dict[str, str]:
    """The setting that names the records."""
    if data == "digits":
        return {"data": data}
    return {"data": str(data_file("cifar10_12k.npz"))}


def games() -> list[Game]:
    """All of them, in the order in which they are played."""
    return [
        *(Game("digits", "noise-0.5", c, 2_000, noisy(DIGITS)) for c in CANARIES),
        Game("digits", "crafted", "blank", 2_000, crafted()),
        *(Game("digits", "epsilon-10", c, 2_000, {**DIGITS, "epsilon": 10.0}) for c in CANARIES),
        *(Game("digits", "crafted", c, 2_000, crafted()) for c in CANARIES),
        *(Game("cifar10", "noise-0.5", c, 100, noisy(CIFAR)) for c in CANARIES),
    ]


def noisy(training: Mapping[str, Any]) -> dict[str, Any]:
    """With the paper's noise multiplier."""
    return {**training, "noise_multiplier": 0.5}


def crafted() -> dict[str, Any]:
    """With the start that the worst-case adversary crafts, at epsilon 10."""
    return {**CRAFTED, "epsilon": 10.0}
