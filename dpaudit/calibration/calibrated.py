"""What came of a calibration: a row for each way on each mechanism, and whether bounds held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit import checks
from dpaudit.calibration import doubt
from dpaudit.calibration.way import Standing

MOST_TRIALS = 20_000
"""Of a world: what is quick is asked with many times as many, which are kept in memory."""


@dataclass(frozen=True)
class Setting:
    """How often, how large, and what is asked of every way."""

    repetitions: int = 400
    trials: int = 50
    confidence: float = 0.95
    delta: float = 1e-5
    seed: int = 0
    full: bool = False

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.at_least("repetitions", self.repetitions, 1),
                checks.whole("trials", self.trials, 10, MOST_TRIALS),
                checks.in_range("confidence", self.confidence, 0.5, 0.999, ends="(]"),
                checks.in_range("delta", self.delta, 1e-12, 0.1),
                checks.at_least("seed", self.seed, 0),
            ]
        )

    @property
    def level(self) -> float:
        """The share of false alarms that the confidence allows."""
        return 1 - self.confidence


@dataclass(frozen=True)
class Measured:
    """False alarms in so many repetitions, and the mean number of all."""

    alarms: int
    repetitions: int
    mean: float


@dataclass(frozen=True)
class Calibrated:
    """What came of one way on one mechanism: of the repetitions that decide."""

    mechanism: str
    trials: int
    delta: float
    epsilon: float
    attack: str
    judged: str
    standing: Standing
    level: float
    measured: Measured
    first: Measured | None = None
    """Where the interval of the first repetitions lay above the level: what they showed."""

    @property
    def rate(self) -> float:
        """The measured share of false alarms."""
        return self.measured.alarms / self.measured.repetitions

    @property
    def sure(self) -> float:
        """The confidence of the interval."""
        return doubt.SURE if self.first is None else doubt.SURER

    @property
    def interval(self) -> tuple[float, float]:
        """Of the rate, two-sided."""
        return doubt.interval(self.measured.alarms, self.measured.repetitions, self.sure)

    @property
    def broken(self) -> bool:
        """A bound whose interval does not reach down to the level that it states."""
        return self.standing == "bound" and self.interval[0] > self.level

    @property
    def share(self) -> float | None:
        """The mean number as a share of the true epsilon; None where nothing leaks."""
        return self.measured.mean / self.epsilon if self.epsilon > 0 else None


@dataclass(frozen=True)
class Calibration:
    """All of it: by mechanism, then by way."""

    setting: Setting
    rows: Sequence[Calibrated]

    @property
    def bounds(self) -> list[Calibrated]:
        """The rows that state a confidence."""
        return [row for row in self.rows if row.standing == "bound"]

    @property
    def broken(self) -> list[Calibrated]:
        """Bounds with more false alarms than they state."""
        return [row for row in self.rows if row.broken]

    @property
    def held(self) -> bool | None:
        """Whether every bound kept its word; None where too few repetitions could tell."""
        if self.broken:
            return False
        return True if doubt.tells(self.setting.level, self.setting.repetitions) else None

    @property
    def found(self) -> float:
        """A bound that is wrong as often as this would have been found, with `doubt.POWER`."""
        return doubt.found(self.setting.level, self.setting.repetitions)

    @property
    def by_chance(self) -> float:
        """At most the probability that any bound is said to be wrong, though none is."""
        n = self.setting.repetitions
        return min(1.0, sum(doubt.blamed(row.level, row.level, n) for row in self.bounds))
