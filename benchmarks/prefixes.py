"""The first models of a journal, judged as if there were no others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpaudit.played import Played
    from dpaudit.protocols import Attack
    from dpaudit.trials import Trials


@dataclass(frozen=True)
class Prefixes:
    """What one attack sees of all models, and the seconds that they took."""

    played: Played
    attack: Attack
    trials: Trials
    spent: float

    @classmethod
    def read(cls, journal: Path, attack: Attack | None = None) -> Prefixes:
        """Of a complete run; its own attack, of which it has one, unless another is given."""
        from dpaudit import registry
        from dpaudit.journal import Journal
        from dpaudit.played import read

        with Journal.read(journal) as opened:
            played, spent = read(opened), opened.seconds()
        if attack is None:
            (name,) = played.settings["attacks"]
            attack = registry.make("attacks", name)
        return cls(played, attack, played.trials(repr(attack), attack), spent)

    def training(self, per_world: int) -> float:
        """The seconds that so many models of each world took, as a share of all."""
        return self.spent * 2 * per_world / len(self.trials)

    def judge(self, per_world: int, estimator: str, confidence: float) -> tuple[float, float]:
        """The bound that so many models of each world show, and the seconds it took to find."""
        from dpaudit.jury import Jury

        started = time.perf_counter()
        first = self.trials[self.trials.indices < per_world]
        jury = Jury((estimator,), self.played.claim, self.played.seed)
        fixed = jury.fix(self.attack, first, always=False)
        (bound,) = jury.bounds(fixed, confidence, confidence)
        return bound.epsilon, time.perf_counter() - started
