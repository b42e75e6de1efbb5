"""When a measured rate of false alarms says that a bound is wrong, and how surely it would.

A bound holds if the interval of its rate reaches down to the level that it states. Of many
intervals some lie above by chance, so that those bounds are measured again: on fresh seeds, with
several times the repetitions, which alone decide. As many as that can afford a wider interval,
so that next to none is blamed by chance and hardly any chance of finding a wrong one is lost.
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

# ----------------------------------------------------------------
# When a measured rate of false alarms says that a bound is wrong, and how surely it would.
#
# A bound holds if the interval of its rate reaches down to the level that it states. Of many
# intervals some lie above by chance, so that those bounds are measured again: on fresh seeds, with
# several times the repetitions, which alone decide. As many as that can afford a wider interval,
# so that next to none is blamed by chance and hardly any chance of finding a wrong one is lost.


SURE, SURER = 0.95, 0.999
"""Of the interval of a rate, two-sided; and of that of a rate which is measured again."""

AGAIN = 4
"""Times the repetitions."""

POWER = 0.8
"""The probability with which what can be found is found."""

CHOICES = 4
"""A bound that is the best of so many, and pays nothing for that, must be one that is found."""


def interval(alarms: int, repetitions: int, sure: float = SURE) -> tuple[float, float]:
    """Of a rate, two-sided, by Clopper and Pearson."""
    a = (1 - sure) / 2
    low, high = lower_rate(alarms, repetitions, a), upper_rate(alarms, repetitions, a)
    return float(low), float(high)


def blamed(rate: float, level: float, repetitions: int) -> float:
    """The probability that a bound of some rate of false alarms is said to be wrong."""
    return _above(rate, level, repetitions, SURE) * _above(rate, level, AGAIN * repetitions, SURER)


@lru_cache
def found(level: float, repetitions: int) -> float:
    """The least rate of false alarms that is found with probability `POWER`; 1: there is none."""

    def short(rate: float) -> float:
        return blamed(rate, level, repetitions) - POWER

    return float(brentq(short, level, 1.0)) if short(1.0) > 0 else 1.0


def tells(level: float, repetitions: int) -> bool:
    """Whether so many repetitions would find what a choice that is not paid for makes of a bound.

    The best of four independent bounds errs with probability 1 - (1 - a)^4, 18.5 % at 5 %. What
    cannot even tell that has not shown that anything holds.
    """
    return found(level, repetitions) <= 1 - (1 - level) ** CHOICES


def _above(rate: float, level: float, n: int, sure: float) -> float:
    """The probability that the interval lies above the level."""
    return float(binom.sf(_fewest(level, n, sure) - 1, n, rate))


@lru_cache
def _fewest(level: float, n: int, sure: float) -> int:
    """The least number of alarms whose interval lies above the level; more than n: none."""
    low, high = -1, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        if interval(middle, n, sure)[0] > level:
            high = middle
        else:
            low = middle
    return high


# ----------------------------------------------------------------
# What came of a calibration: a row for each way on each mechanism, and whether bounds held.


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
        return SURE if self.first is None else SURER

    @property
    def interval(self) -> tuple[float, float]:
        """Of the rate, two-sided."""
        return interval(self.measured.alarms, self.measured.repetitions, self.sure)

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
        return True if tells(self.setting.level, self.setting.repetitions) else None

    @property
    def found(self) -> float:
        """A bound that is wrong as often as this would have been found, with `POWER`."""
        return found(self.setting.level, self.setting.repetitions)

    @property
    def by_chance(self) -> float:
        """At most the probability that any bound is said to be wrong, though none is."""
        n = self.setting.repetitions
        return min(1.0, sum(blamed(row.level, row.level, n) for row in self.bounds))
