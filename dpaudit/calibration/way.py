"""What a way to a number of epsilon is: by what attack, judged how, and what it states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias

from dpaudit import registry
from dpaudit.calibration.plays import Play
from dpaudit.protocols import Attack

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
