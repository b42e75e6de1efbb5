"""What tightness is measured of: trainings, the bounds that are made of each, and their bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

RECORDS = 1_000
SIZES = (100, 500, 2_000)
"""Models in each world."""


@dataclass(frozen=True)
class Game:
    """What is trained: by whom it is attacked, what is claimed, how, how many in each world.

    Where trials are parts of a training, steps to the adversary that sees single ones or many
    canaries of one run, there is no such number.
    """

    adversary: str
    epsilon: float
    batch: int | str = "full"
    steps: int | None = None
    per_world: int | None = SIZES[-1]
    canaries: int | None = None
    guesses: int | None = None

    @property
    def name(self) -> str:
        """As `--only` takes it."""
        return f"{self.adversary} {self.batch} {self.epsilon:g}"

    @property
    def trained(self) -> str:
        """The batches, in a few words."""
        if self.steps is None:
            return str(self.batch)
        return f"{int(self.batch) / RECORDS:g} x {self.steps:,}"

    def settings(self, data: Mapping[str, Any], repetition: int) -> dict[str, Any]:
        """The configuration of one repetition, but for what its adversary brings along."""
        from dpaudit.seeds import derive

        given: dict[str, Any] = {
            "adversary": self.adversary,
            "epsilon": self.epsilon,
            "batch": self.batch,
        }
        if self.steps is not None:
            given["steps"] = self.steps
        if self.per_world is not None:
            given["models"] = 2 * self.per_world
        if self.canaries is not None:
            given |= {"canaries": self.canaries, "guesses": self.guesses}
        # No seed serves two games: the same luck in all of them would look like a finding.
        return {**data, **given, "seed": derive(repetition, "tightness", self.name) >> 32}

    def scaled(self, scale: float) -> Game:
        """The same with fewer models, or steps where those are the trials."""
        if self.canaries is not None:
            fewer = {"canaries": self.canaries, "guesses": self.guesses or 0}
            return replace(self, **{name: scaled(n, scale) for name, n in fewer.items()})
        if self.per_world is None:
            return replace(self, steps=scaled(self.steps or 0, scale))
        return replace(self, per_world=scaled(self.per_world, scale))


@dataclass(frozen=True)
class Row:
    """A bound that is asked for, and the least that its mean is to be; None: whatever it is."""

    game: Game
    per_world: int | None
    estimator: str
    bar: float | None = None

    @property
    def models(self) -> str:
        """How many are trained."""
        if self.per_world is None:
            return "2 runs" if self.game.canaries is None else "1 run"
        return f"{self.per_world:,} + {self.per_world:,}"

    def scaled(self, scale: float) -> Row:
        """A quick one, to which no bar is held."""
        if scale == 1:
            return self
        few = None if self.per_world is None else scaled(self.per_world, scale)
        return replace(self, game=self.game.scaled(scale), per_world=few, bar=None)


def scaled(number: int, scale: float) -> int:
    """Even, because trials of a world have two halves."""
    return 2 * max(1, round(number * scale / 2))


def rows() -> list[Row]:
    """What is measured, in this order: the cheapest first, and what has no bar last."""
    return [
        *single_steps(),
        *full_batches("worst-case", 10, {100: 7.0, 500: 8.5, 2_000: 9.3}, outright=3.2),
        *one_run(),
        Row(Game("white-box", 8, batch=100, steps=100), 2_000, "rank-test", bar=0.85 * 8),
        *full_batches("worst-case", 1, {2_000: 0.65}),
        *full_batches("worst-case", 2, {2_000: 1.6}),
        *full_batches("worst-case", 4, {2_000: 3.5}),
        *(
            row
            for epsilon in (10, 4, 1)
            for adversary in ("final-weights", "white-box")
            for row in full_batches(adversary, epsilon, {})
        ),
    ]


def single_steps() -> list[Row]:
    """All steps of two trainings, and the shares of the claim that they are to show."""
    shares = {1: 0.78, 4: 0.85, 8: 0.80}
    games = {e: Game("per-step", e, batch=10, steps=5_000, per_world=None) for e in shares}
    return [Row(games[e], None, "paired-auc", bar=share * e) for e, share in shares.items()]


def one_run() -> list[Row]:
    """Many canaries in one training, guessed without any assumption and by the claim's curve."""
    game = Game("white-box", 8, per_world=None, canaries=1_000, guesses=200)
    return [Row(game, None, "one-run", bar=2.5), Row(game, None, "one-run-fdp", bar=4.2)]


def full_batches(
    adversary: str, epsilon: float, bars: Mapping[int, float], outright: float | None = None
) -> list[Row]:
    """One training of many models and the bounds of more and more of them.

    Where no bar is held against the most, they are left out: they would take hours to say little.
    """
    sizes = [n for n in SIZES if n <= max(bars, default=SIZES[1])]
    game = Game(adversary, epsilon, per_world=sizes[-1])
    found = [Row(game, n, "rank-test", bars.get(n)) for n in sizes]
    return found if outright is None else [*found, Row(game, 1_000, "exact-scan", outright)]
