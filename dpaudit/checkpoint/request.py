"""The claim of a user's own model, and how the guesses on its canaries are to be judged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from dpaudit import checks
from dpaudit.accounting.curves import DPSGD, Family, stated
from dpaudit.checkpoint.scoring import AUTO, SCORES
from dpaudit.estimators.power.truth import located
from dpaudit.types import Claim, Curve, DPSGDCurve, GaussianCurve


@dataclass(frozen=True)
class CheckpointRequest:
    """A claim, if there is one, and how the guesses are to be judged.

    `curve` is that which the claim states, 'gaussian', 'dpsgd:Q,T' or 'none'; left empty, a
    Gaussian one is assumed beside what assumes nothing, and decides nothing. `guesses` is their
    number, where it is fixed; else the best of a few is paid for. `score` is fixed here too.
    """

    claimed: tuple[float, float] | None = None
    delta: float = 1e-5
    confidence: float = 0.95
    curve: str = ""
    guesses: int | None = None
    score: str = AUTO
    seed: int = 0

    def __post_init__(self) -> None:
        epsilon, delta = self.claimed or (1.0, self.delta)
        checks.refuse(
            [
                checks.of("claim", checks.positive("the claimed epsilon", epsilon)),
                checks.in_range("delta", delta, 0, 1, ends="[)"),
                checks.in_range("confidence", self.confidence, 0.5, 1, ends="()"),
                checks.one_of("score", self.score, (AUTO, *SCORES)),
                None if self.guesses is None else checks.at_least("guesses", self.guesses, 1),
                checks.at_least("seed", self.seed, 0),
            ]
        )
        _ = self.family

    @property
    def family(self) -> Family | None:
        """The kind of curve that is stated, or assumed where none is; None: none."""
        return stated(self.curve)

    @cached_property
    def claim(self) -> Claim:
        """What is promised, with its curve if one is stated; an infinite epsilon if nothing is."""
        if self.claimed is None:
            return Claim(math.inf, self.delta)
        epsilon, delta = self.claimed
        return Claim(epsilon, delta, curve=self._curve(epsilon, delta))

    def _curve(self, epsilon: float, delta: float) -> Curve | None:
        family = self.family
        if not self.curve or family is None:
            return None
        parameter = located(family, epsilon, delta)
        if isinstance(family, DPSGD):
            return DPSGDCurve(family.sample_rate, family.rounds, parameter)
        return GaussianCurve(parameter)
