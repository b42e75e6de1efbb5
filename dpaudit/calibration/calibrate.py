"""What is audited in a calibration: mechanisms, each with so many trials, asked so much."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from dpaudit import checks
from dpaudit.calibration import results
from dpaudit.calibration.all_methods import quick_ways, ways
from dpaudit.calibration.methods import Asked, Way
from dpaudit.calibration.results import Calibrated, Calibration, Measured, Setting
from dpaudit.calibration.simulated import (
    SAMPLES,
    KnownMechanism,
    Play,
    RandomizedResponse,
    mechanisms,
)
from dpaudit.errors import WorkersLost
from dpaudit.executors import local_pool
from dpaudit.seeds import derive
from dpaudit.types import Array

SPENT = 0.1
"""The delta that a mechanism spends whole, so that whatever forgets delta is seen to be wrong.

With half of it Clopper-Pearson, which errs in less than it may, would hide that.
"""

MANY = 20
"""Times the trials, for what is quick: counts of few trials show next to nothing."""


@dataclass(frozen=True)
class Subject:
    """A mechanism, with so many trials of each world, asked at a delta in these ways."""

    mechanism: KnownMechanism
    trials: int
    delta: float
    ways: Sequence[Way]
    samples: int = SAMPLES
    """MC-dropout draws of a trial, if a way looks at them."""

    @property
    def epsilon(self) -> float:
        """The true one."""
        return self.mechanism.epsilon(self.delta)

    @property
    def name(self) -> str:
        """Tells it from all others."""
        return f"{self.mechanism.name}, {self.trials} trials"


def subjects(trials: int, delta: float, full: bool) -> Iterator[Subject]:
    """Each mechanism with the trials asked for, then with many more."""
    spends = RandomizedResponse(1.0, SPENT)
    for mechanism, d in [*((m, delta) for m in mechanisms(delta)), (spends, SPENT)]:
        yield Subject(mechanism, trials, d, tuple(ways(mechanism, d, full)))
        if quick := tuple(quick_ways(mechanism, d, full)):
            yield Subject(mechanism, MANY * trials, d, quick, samples=0)


# ----------------------------------------------------------------
# Hold every way to a number of epsilon against mechanisms whose epsilon is known.
#
# A false alarm is a number above the true epsilon, at the same delta. Whatever states 95 %
# confidence may raise one in 5 % of all repetitions at most.


AT_ONCE = 10
"""Repetitions in one task."""

Progress = Callable[[int, int], None]


def calibrate(
    setting: Setting, workers: int = 1, progress: Progress = lambda done, total: None
) -> Calibration:
    """The same numbers whatever the number of workers; one of them needs no other process."""
    checks.refuse([checks.at_least("workers", workers, 1)])
    every = list(subjects(setting.trials, setting.delta, setting.full))
    try:
        with nullcontext() if workers == 1 else local_pool(workers) as pool:
            first = _tasks(setting, every)
            rows = _rows(setting, every, _played(first, pool, progress, 0))
            # Every number of the first repetitions may have had its part in the doubt.
            doubtful = [_only(subject, rows) for subject in every]
            second = _tasks(setting, doubtful, again=True)
            surer = _rows(setting, doubtful, _played(second, pool, progress, len(first)))
    except WorkersLost as error:
        raise WorkersLost(
            "worker processes died (out of memory?); try again with fewer --workers"
        ) from error
    found = {_key(row): row for row in surer}
    decisive = [
        replace(found[_key(row)], first=row.measured) if _key(row) in found else row for row in rows
    ]
    return Calibration(setting, decisive)


def _key(row: Calibrated) -> tuple[str, int, str, str]:
    return row.mechanism, row.trials, row.attack, row.judged


def _only(subject: Subject, rows: Sequence[Calibrated]) -> Subject:
    """With the ways that are in doubt."""
    broken = {_key(row) for row in rows if row.broken}
    place = subject.mechanism.name, subject.trials
    kept = [way for way in subject.ways if (*place, way.attack, way.judged) in broken]
    return replace(subject, ways=kept)


def _rows(setting: Setting, every: Sequence[Subject], played: Played) -> list[Calibrated]:
    parts = sorted(played, key=lambda part: part[:2])
    return [
        Calibrated(
            mechanism=subject.mechanism.name,
            trials=subject.trials,
            delta=subject.delta,
            epsilon=subject.epsilon,
            attack=way.attack,
            judged=way.judged,
            standing=way.standing,
            level=way.share * setting.level,
            measured=_measured(numbers, subject.epsilon),
        )
        for which, subject in enumerate(every)
        if subject.ways
        for way, numbers in zip(
            subject.ways,
            np.concatenate([part[2] for part in parts if part[0] == which]).T,
            strict=True,
        )
    ]


def _measured(numbers: Array, truth: float) -> Measured:
    mean = float(np.mean(numbers)) if np.isfinite(numbers).all() else math.inf
    return Measured(int(np.sum(numbers > truth)), len(numbers), mean)


# ---------------------------------------------------------------- repetitions


@dataclass(frozen=True)
class Task:
    """Some repetitions of all ways on one subject, for one worker."""

    setting: Setting
    which: int
    subject: Subject
    repetitions: range
    again: bool

    def __call__(self) -> Part:
        """The subject's place, the first repetition, and a row of numbers for each."""
        rows = [self._numbers(repetition) for repetition in self.repetitions]
        return self.which, self.repetitions.start, np.array(rows)

    def _numbers(self, repetition: int) -> list[float]:
        s, subject = self.setting, self.subject
        purpose = "calibrate again" if self.again else "calibrate", subject.name, repetition
        play = Play(subject.mechanism, subject.trials, derive(s.seed, *purpose), subject.samples)
        asked = Asked(subject.delta, s.confidence)
        # A test's own draws are new in every repetition: their error, which all repetitions
        # with the same draws would share, is a part of the rate that is measured.
        return [
            way.epsilon(play, asked, derive(s.seed, *purpose, way.attack, way.judged))
            for way in subject.ways
        ]


Part = tuple[int, int, Array]
Played = Iterator[Part]


def _tasks(setting: Setting, every: Sequence[Subject], again: bool = False) -> list[Task]:
    repetitions = setting.repetitions * (results.AGAIN if again else 1)
    return [
        Task(setting, which, subject, range(start, min(start + AT_ONCE, repetitions)), again)
        for start in range(0, repetitions, AT_ONCE)
        for which, subject in enumerate(every)
        if subject.ways
    ]


def _played(
    tasks: Sequence[Task], pool: Executor | None, progress: Progress, before: int
) -> Played:
    """What comes of the tasks, in any order; so many have been done before them."""
    if pool is None:
        parts: Played = (task() for task in tasks)
    else:
        parts = (future.result() for future in as_completed([pool.submit(t) for t in tasks]))
    for done, part in enumerate(parts, before + 1):
        progress(done, before + len(tasks))
        yield part
