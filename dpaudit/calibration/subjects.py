"""What is audited in a calibration: mechanisms, each with so many trials, asked so much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpaudit.calibration.every_way import quick_ways, ways
from dpaudit.calibration.mechanisms import KnownMechanism, RandomizedResponse, mechanisms
from dpaudit.calibration.plays import SAMPLES
from dpaudit.calibration.way import Way

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
