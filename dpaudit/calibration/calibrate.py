"""Compare the numbers of all methods with mechanisms whose epsilon is known.

A false alarm is a number above the true epsilon, at the same delta. Whatever states 95 %
confidence may raise one in 5 % of all repetitions at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from dpaudit import checks
from dpaudit.calibration import results
from dpaudit.calibration.all_methods import quick_methods, usable_methods
from dpaudit.calibration.methods import BoundSettings, Method
from dpaudit.calibration.results import Calibration, CalibrationRow, Measurement, Setting
from dpaudit.calibration.simulated import (
    SAMPLES,
    KnownMechanism,
    KnownRandomizedResponse,
    SimulatedRun,
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
"""Multiple of the trials for quick methods: counts of few trials show next to nothing."""

AT_ONCE = 10
"""Repetitions in one task."""

Progress = Callable[[int, int], None]
Part = tuple[int, int, Array]
"""The place of a case, the first repetition, and a row of numbers for each repetition."""


@dataclass(frozen=True)
class CalibrationCase:
    """A mechanism, the trials of each world, a delta, and the methods that are used on it."""

    mechanism: KnownMechanism
    trials: int
    delta: float
    methods: Sequence[Method]
    samples: int = SAMPLES
    """MC-dropout draws of a trial, if a method looks at them."""

    @property
    def epsilon(self) -> float:
        """The true epsilon."""
        return self.mechanism.epsilon(self.delta)

    def key(self, method: Method) -> tuple[str, int, str, str]:
        """Return what tells a method on this case from all others."""
        return self.mechanism.name, self.trials, method.attack, method.judged


def cases(trials: int, delta: float, full: bool) -> Iterator[CalibrationCase]:
    """Yield each mechanism with these trials, then with many more."""
    spends = KnownRandomizedResponse(1.0, SPENT)
    for mechanism, d in [*((m, delta) for m in mechanisms(delta)), (spends, SPENT)]:
        yield CalibrationCase(mechanism, trials, d, tuple(usable_methods(mechanism, d, full)))
        if quick := tuple(quick_methods(mechanism, d, full)):
            yield CalibrationCase(mechanism, MANY * trials, d, quick, samples=0)


def calibrate(
    setting: Setting, workers: int = 1, progress: Progress = lambda done, total: None
) -> Calibration:
    """Measure all methods; the numbers do not depend on the number of workers."""
    checks.refuse([checks.at_least("workers", workers, 1)])
    every = list(cases(setting.trials, setting.delta, setting.full))
    try:
        with nullcontext() if workers == 1 else local_pool(workers) as pool:
            first = _tasks(setting, every)
            rows = _rows(setting, every, _run(first, pool, progress, 0))
            # Fresh repetitions: those so far are what raised the doubt.
            doubtful = [
                replace(case, methods=[m for m in case.methods if rows[case.key(m)].broken])
                for case in every
            ]
            second = _tasks(setting, doubtful, again=True)
            retested = _rows(setting, doubtful, _run(second, pool, progress, len(first)))
    except WorkersLost as error:
        raise WorkersLost(
            "worker processes died (out of memory?); try again with fewer --workers"
        ) from error
    retested = {key: replace(row, first=rows[key].measured) for key, row in retested.items()}
    return Calibration(setting, list({**rows, **retested}.values()))


def _rows(
    setting: Setting, every: Sequence[CalibrationCase], parts: Iterator[Part]
) -> dict[tuple[str, int, str, str], CalibrationRow]:
    ordered, rows = sorted(parts, key=lambda part: part[:2]), {}
    for index, case in enumerate(every):
        parts_of = [numbers for place, _, numbers in ordered if place == index]
        found = np.concatenate(parts_of).T if parts_of else ()
        for method, numbers in zip(case.methods, found, strict=True):
            rows[case.key(method)] = CalibrationRow(
                mechanism=case.mechanism.name,
                trials=case.trials,
                delta=case.delta,
                epsilon=case.epsilon,
                attack=method.attack,
                judged=method.judged,
                standing=method.standing,
                level=method.share * setting.level,
                measured=_measured(numbers, case.epsilon),
            )
    return rows


def _measured(numbers: Array, truth: float) -> Measurement:
    mean = float(np.mean(numbers)) if np.isfinite(numbers).all() else math.inf
    return Measurement(int(np.sum(numbers > truth)), len(numbers), mean)


@dataclass(frozen=True)
class Task:
    """Some repetitions of all methods on one case, for one worker."""

    setting: Setting
    case_index: int
    case: CalibrationCase
    repetitions: range
    again: bool

    def __call__(self) -> Part:
        rows = [self._numbers(repetition) for repetition in self.repetitions]
        return self.case_index, self.repetitions.start, np.array(rows)

    def _numbers(self, repetition: int) -> list[float]:
        s, case = self.setting, self.case
        name = f"{case.mechanism.name}, {case.trials} trials"
        purpose = "calibrate again" if self.again else "calibrate", name, repetition
        run = SimulatedRun(case.mechanism, case.trials, derive(s.seed, *purpose), case.samples)
        target = BoundSettings(case.delta, s.confidence)
        # A test's own draws are new in every repetition: their error, which all repetitions
        # with the same draws would share, is a part of the rate that is measured.
        return [
            method.epsilon(run, target, derive(s.seed, *purpose, method.attack, method.judged))
            for method in case.methods
        ]


def _tasks(setting: Setting, every: Sequence[CalibrationCase], again: bool = False) -> list[Task]:
    repetitions = setting.repetitions * (results.AGAIN if again else 1)
    return [
        Task(setting, index, case, range(start, min(start + AT_ONCE, repetitions)), again)
        for start in range(0, repetitions, AT_ONCE)
        for index, case in enumerate(every)
        if case.methods
    ]


def _run(
    tasks: Sequence[Task], pool: Executor | None, progress: Progress, before: int
) -> Iterator[Part]:
    """Yield the results of the tasks, in any order; `before` tasks have been done already."""
    if pool is None:
        parts: Iterator[Part] = (task() for task in tasks)
    else:
        parts = (future.result() for future in as_completed([pool.submit(t) for t in tasks]))
    for done, part in enumerate(parts, before + 1):
        progress(done, before + len(tasks))
        yield part
