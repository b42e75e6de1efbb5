"""When a measured rate of false alarms says that a bound is wrong, and how surely it would.

A bound holds if the interval of its rate reaches down to the level that it states. Of many
intervals some lie above by chance, so that those bounds are measured again: on fresh seeds, with
several times the repetitions, which alone decide. As many as that can afford a wider interval,
so that next to none is blamed by chance and hardly any chance of finding a wrong one is lost.
"""

from __future__ import annotations

from functools import lru_cache

from scipy.optimize import brentq
from scipy.stats import binom

from dpaudit.rates import lower_rate, upper_rate

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
