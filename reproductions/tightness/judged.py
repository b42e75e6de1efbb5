"""What is made of a journal: the bounds that are asked for, and those of many small audits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binom

from dpaudit import registry
from dpaudit.audit import Run
from dpaudit.estimators.trials import Trials, indices
from dpaudit.journal import Journal
from dpaudit.judging.panel import EstimatorPanel
from dpaudit.judging.run_data import read_run
from dpaudit.protocols import Attack
from dpaudit.types import OUT, Claim
from reproductions.tightness.claims import Game, Row

CONFIDENCE = 0.95

SMALL = 50
"""Models of each world in a small audit."""

ESTIMATORS = ("rank-test", "exact-scan", "clopper-pearson")
"""What judges those: all that a run with such an adversary prints."""

SURELY = 0.999
"""How surely no more are above the claim than may be, if each is with its error probability."""


def judged(journal: Path, wanted: list[Row]) -> list[tuple[float, float]]:
    """The bound of each row, and the seconds that its models and its judgement took."""
    judge = whole if wanted[0].per_world is None else prefixes
    return judge(journal, wanted)


def whole(journal: Path, wanted: list[Row]) -> list[tuple[float, float]]:
    """What the run's own report says, where trials are no models that could be fewer."""
    report = Run(journal.parent).judge()
    bounds = {bound.estimator: bound.epsilon for bound in report.bounds}
    return [(bounds[row.estimator], sum(report.seconds.values())) for row in wanted]


def prefixes(journal: Path, wanted: list[Row]) -> list[tuple[float, float]]:
    """What the first models of each world show."""
    models = Models.of(journal)
    found = []
    for row in wanted:
        assert row.per_world is not None
        bound, judging = models.first(row.per_world, row.estimator)
        found.append((bound, models.training(row.per_world) + judging))
    return found


@dataclass(frozen=True)
class Models:
    """All models of a journal, of which any may be judged as if there were no others."""

    attack: Attack
    trials: Trials
    claim: Claim
    seed: int
    seconds: float

    @classmethod
    def of(cls, journal: Path, attack: Attack | None = None) -> Models:
        """As an attack sees them; the run's own, unless one is given."""
        with Journal.read(journal) as opened:
            seen, seconds = read_run(opened), opened.seconds()
        if attack is None:
            (name,) = seen.settings["attacks"]
            attack = registry.make("attacks", name)
        return cls(attack, seen.trials(repr(attack), attack), seen.claim, seen.seed, seconds)

    def training(self, per_world: int) -> float:
        """The seconds that so many of each world took, as a share of all."""
        return self.seconds * per_world / self.trials.of(OUT)

    def first(
        self, per_world: int, estimator: str, confidence: float = CONFIDENCE
    ) -> tuple[float, float]:
        """What the first of each world show, and the seconds it took to find out."""
        started = time.perf_counter()
        bound = self.bound(0, per_world, estimator, confidence)
        return bound, time.perf_counter() - started

    def bound(self, start: int, end: int, estimator: str, confidence: float = CONFIDENCE) -> float:
        """What those of each world show whose index lies in a range."""
        i = indices(self.trials.worlds)
        some = self.trials[(start <= i) & (i < end)]
        panel = EstimatorPanel((estimator,), self.claim, self.seed)
        (bound,) = panel.bounds(panel.fix(self.attack, some, always=False), confidence, confidence)
        return bound.epsilon


@dataclass(frozen=True)
class Small:
    """How many of many small audits have a bound above the claim, by estimator."""

    game: Game
    audits: int
    above: dict[str, int]

    @property
    def allowed(self) -> int:
        """How many there may be, if each is wrong with its error probability."""
        return int(binom.ppf(SURELY, self.audits, 1 - CONFIDENCE))

    @property
    def held(self) -> bool:
        """Whether none is wrong more often than that."""
        return max(self.above.values()) <= self.allowed

    def line(self) -> str:
        """In a few words."""
        counted = ", ".join(f"{name} {number}" for name, number in self.above.items())
        verdict = "held" if self.held else "NOT HELD"
        return f"{self.game.name}: {counted} of {self.audits}; at most {self.allowed}: {verdict}"


def small(game: Game, journals: Sequence[Path]) -> Small:
    """A game's models, cut into audits of a few that have none in common."""
    every = [Models.of(journal) for journal in journals]
    starts = [
        (models, start)
        for models in every
        for start in range(0, models.trials.of(OUT) - SMALL + 1, SMALL)
    ]
    above = {
        name: sum(m.bound(i, i + SMALL, name) > game.epsilon for m, i in starts)
        for name in ESTIMATORS
    }
    return Small(game, len(starts), above)
