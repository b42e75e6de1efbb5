"""Results of a calibration, and the test by which a measured rate flags a bound as wrong.

A bound holds if the interval of its rate reaches down to the level that it states. Some of many
intervals lie above by chance. Those bounds are measured again on fresh seeds, with several times
the repetitions, and only this second measurement decides. It has a wider interval: almost no bound
is flagged by chance, and a wrong bound is still found almost as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scipy.optimize import brentq
from scipy.stats import binom

from dpaudit import checks
from dpaudit.calibration.methods import Standing
from dpaudit.rates import lower_rate, upper_rate
from dpaudit.results import Result

SURE, SURER = 0.95, 0.999
"""Confidence of the two-sided interval of a rate, and of a rate that is measured again."""

AGAIN = 4
"""Multiple of the repetitions for a bound that is measured again."""

POWER = 0.8
"""The probability of finding a bound that is wrong at the detectable rate."""

CHOICES = 4
"""The best of this number of bounds, without correction, must be flagged as wrong."""


def interval(alarms: int, repetitions: int, confidence: float = SURE) -> tuple[float, float]:
    """Return the two-sided Clopper-Pearson interval of a rate."""
    a = (1 - confidence) / 2
    low, high = lower_rate(alarms, repetitions, a), upper_rate(alarms, repetitions, a)
    return float(low), float(high)


def flagging_chance(rate: float, level: float, repetitions: int) -> float:
    """Return the probability that a bound with this rate of false alarms is flagged."""
    return _above(rate, level, repetitions, SURE) * _above(rate, level, AGAIN * repetitions, SURER)


@lru_cache
def detectable_rate(level: float, repetitions: int) -> float:
    """Return the least rate of false alarms that is found with probability `POWER`, or 1."""

    def short(rate: float) -> float:
        return flagging_chance(rate, level, repetitions) - POWER

    return float(brentq(short, level, 1.0)) if short(1.0) > 0 else 1.0


def can_tell(level: float, repetitions: int) -> bool:
    """Return whether this number of repetitions would find a bound without correction for choice.

    The best of four independent bounds errs with probability 1 - (1 - a)^4, 18.5 % at 5 %. A
    calibration that cannot tell that has not shown that any bound holds.
    """
    return detectable_rate(level, repetitions) <= 1 - (1 - level) ** CHOICES


def _above(rate: float, level: float, n: int, confidence: float) -> float:
    """Return the probability that the interval lies above the level."""
    return float(binom.sf(_fewest(level, n, confidence) - 1, n, rate))


@lru_cache
def _fewest(level: float, n: int, confidence: float) -> int:
    """Return the least number of alarms whose interval lies above the level; n + 1: none."""
    low, high = -1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if interval(middle, n, confidence)[0] > level:
            high = middle
        else:
            low = middle
    return high


MOST_TRIALS = 20_000
"""Trials of a world: quick methods take many times as many, which are kept in memory."""


@dataclass(frozen=True)
class Setting:
    """Repetitions, trials and what every method is given."""

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
class Measurement:
    """The false alarms among a number of repetitions, and the mean of all their numbers."""

    alarms: int
    repetitions: int
    mean: float


@dataclass(frozen=True)
class CalibrationRow:
    """The result of one method on one mechanism, of the repetitions that decide."""

    mechanism: str
    trials: int
    delta: float
    epsilon: float
    attack: str
    judged: str
    standing: Standing
    level: float
    measured: Measurement
    first: Measurement | None = None
    """The first measurement, if its interval lay above the level."""

    @property
    def rate(self) -> float:
        """The measured share of false alarms."""
        return self.measured.alarms / self.measured.repetitions

    @property
    def confidence(self) -> float:
        """The confidence of the interval."""
        return SURE if self.first is None else SURER

    @property
    def interval(self) -> tuple[float, float]:
        """The two-sided interval of the rate."""
        return interval(self.measured.alarms, self.measured.repetitions, self.confidence)

    @property
    def broken(self) -> bool:
        """True for a bound whose interval does not reach down to the level that it states."""
        return self.standing == "bound" and self.interval[0] > self.level

    @property
    def share(self) -> float | None:
        """The mean number as a share of the true epsilon; None where nothing leaks."""
        return self.measured.mean / self.epsilon if self.epsilon > 0 else None


@dataclass(frozen=True)
class Calibration(Result):
    """All results: by mechanism, then by method."""

    setting: Setting
    rows: Sequence[CalibrationRow]

    @property
    def bounds(self) -> list[CalibrationRow]:
        """The rows that state a confidence."""
        return [row for row in self.rows if row.standing == "bound"]

    @property
    def broken(self) -> list[CalibrationRow]:
        """Bounds with more false alarms than they state."""
        return [row for row in self.rows if row.broken]

    @property
    def held(self) -> bool | None:
        """True if every bound held; None if the repetitions are too few to tell."""
        if self.broken:
            return False
        return True if can_tell(self.setting.level, self.setting.repetitions) else None

    @property
    def detectable_rate(self) -> float:
        """The rate of false alarms that would have been found with probability `POWER`."""
        return detectable_rate(self.setting.level, self.setting.repetitions)

    @property
    def by_chance(self) -> float:
        """An upper bound on the probability that any bound is flagged, if all are correct."""
        n = self.setting.repetitions
        return min(1.0, sum(flagging_chance(row.level, row.level, n) for row in self.bounds))
