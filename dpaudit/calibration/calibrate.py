"""Hold every way to a number of epsilon against mechanisms whose epsilon is known.

A false alarm is a number above the true epsilon, at the same delta. Whatever states 95 %
confidence may raise one in 5 % of all repetitions at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from dpaudit import checks
from dpaudit.calibration.every_way import ways
from dpaudit.calibration.mechanisms import KnownMechanism, mechanisms
from dpaudit.calibration.plays import Play
from dpaudit.calibration.ways import Asked, Standing, Way
from dpaudit.errors import BadInput, TrialFailed
from dpaudit.executors import local_pool
from dpaudit.rates import lower_rate, upper_rate
from dpaudit.seeds import derive
from dpaudit.types import Array

SURE = 0.95
"""Of the interval of each measured rate."""

BY_CHANCE = 0.01
"""The probability that any way at all is said to break its word, though none does."""

AT_ONCE = 10
"""Repetitions in one task."""

Progress = Callable[[int, int], None]


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
                checks.at_least("trials", self.trials, 10),
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
class Calibrated:
    """What came of one way on one mechanism, over all repetitions."""

    mechanism: str
    epsilon: float
    attack: str
    judged: str
    standing: Standing
    repetitions: int
    alarms: int
    mean: float

    @property
    def rate(self) -> float:
        """The measured share of false alarms."""
        return self.alarms / self.repetitions

    @property
    def interval(self) -> tuple[float, float]:
        """Of the rate, two-sided, by Clopper and Pearson."""
        a = (1 - SURE) / 2
        k, n = self.alarms, self.repetitions
        return float(lower_rate(k, n, a)), float(upper_rate(k, n, a))

    @property
    def share(self) -> float | None:
        """The mean number as a share of the true epsilon; None where nothing leaks."""
        return self.mean / self.epsilon if self.epsilon > 0 else None


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
        """Bounds with more false alarms than they state, beyond chance.

        Were a way's rate the level itself, so many alarms would have a probability below
        `BY_CHANCE` shared out over all bounds.
        """
        n, a = self.setting.repetitions, self.setting.level
        each = BY_CHANCE / max(1, len(self.bounds))
        return [row for row in self.bounds if binom.sf(row.alarms - 1, n, a) < each]

    @property
    def held(self) -> bool:
        """Whether no bound is found to break its word."""
        return not self.broken


def calibrate(
    setting: Setting, workers: int = 1, progress: Progress = lambda done, total: None
) -> Calibration:
    """The same numbers whatever the number of workers; one of them needs no other process."""
    checks.refuse([checks.at_least("workers", workers, 1)])
    found: list[Calibrated] = []
    subjects = [(m, ways(m, setting.delta, setting.full)) for m in mechanisms(setting.delta)]
    numbers = [np.empty((setting.repetitions, len(several))) for _, several in subjects]
    tasks = list(_tasks(setting, subjects))
    for done, (which, first, part) in enumerate(_played(tasks, workers), 1):
        numbers[which][first : first + len(part)] = part
        progress(done, len(tasks))
    for (mechanism, several), values in zip(subjects, numbers, strict=True):
        found += [
            _calibrated(mechanism, way, column, setting.delta)
            for way, column in zip(several, values.T, strict=True)
        ]
    return Calibration(setting, found)


def _calibrated(mechanism: KnownMechanism, way: Way, numbers: Array, delta: float) -> Calibrated:
    truth = mechanism.epsilon(delta)
    return Calibrated(
        mechanism=mechanism.name,
        epsilon=truth,
        attack=way.attack,
        judged=way.judged,
        standing=way.standing,
        repetitions=len(numbers),
        alarms=int(np.sum(numbers > truth)),
        mean=float(np.mean(numbers)) if np.isfinite(numbers).all() else math.inf,
    )


# ---------------------------------------------------------------- repetitions


@dataclass(frozen=True)
class Task:
    """Some repetitions of all ways on one mechanism, for one worker."""

    setting: Setting
    which: int
    mechanism: KnownMechanism
    ways: Sequence[Way]
    repetitions: range

    def __call__(self) -> tuple[int, int, Array]:
        """The mechanism's place, the first repetition, and a row of numbers for each."""
        rows = [self._numbers(repetition) for repetition in self.repetitions]
        return self.which, self.repetitions.start, np.array(rows)

    def _numbers(self, repetition: int) -> list[float]:
        s, purpose = self.setting, ("calibrate", self.mechanism.name)
        play = Play(self.mechanism, s.trials, derive(s.seed, *purpose, repetition))
        asked = Asked(s.delta, s.confidence)
        # A test's own draws are new in every repetition: their error, which all repetitions
        # with the same draws would share, is a part of the rate that is measured.
        return [
            way.epsilon(play, asked, derive(s.seed, *purpose, repetition, way.attack, way.judged))
            for way in self.ways
        ]


def _tasks(
    setting: Setting, subjects: Sequence[tuple[KnownMechanism, Sequence[Way]]]
) -> Iterator[Task]:
    for start in range(0, setting.repetitions, AT_ONCE):
        some = range(start, min(start + AT_ONCE, setting.repetitions))
        for which, (mechanism, several) in enumerate(subjects):
            yield Task(setting, which, mechanism, several, some)


def _played(tasks: Sequence[Task], workers: int) -> Iterator[tuple[int, int, Array]]:
    """What comes of the tasks, in any order."""
    if workers == 1:
        yield from (task() for task in tasks)
        return
    try:
        with local_pool(workers) as pool:
            for future in as_completed([pool.submit(task) for task in tasks]):
                yield future.result()
    except TrialFailed as error:
        raise BadInput(
            "a worker process died (out of memory?); try again with fewer --workers"
        ) from error
