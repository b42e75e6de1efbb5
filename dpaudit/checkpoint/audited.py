"""What was asked of a model's canaries, and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dpaudit import checks
from dpaudit.checkpoint.outputs import Outputs
from dpaudit.checkpoint.risk import Risk
from dpaudit.checkpoint.scoring import AUTO, SCORES, Score
from dpaudit.checkpoint.subject import Subject
from dpaudit.curves import DPSGD, Family, stated
from dpaudit.power.truth import located
from dpaudit.types import Array, Bound, Claim, Curve, DPSGDCurve, GaussianCurve, Guesses, Verdict


@dataclass(frozen=True)
class Question:
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
    def claim(self) -> Claim | None:
        """What is promised, with its curve where one is stated."""
        if self.claimed is None:
            return None
        epsilon, delta = self.claimed
        return Claim(epsilon, delta, curve=self._curve(epsilon, delta))

    @property
    def at(self) -> float:
        """The delta of all bounds: the claim's."""
        return self.delta if self.claimed is None else self.claimed[1]

    def _curve(self, epsilon: float, delta: float) -> Curve | None:
        family = self.family
        if not self.curve or family is None:
            return None
        parameter = located(family, epsilon, delta)
        if isinstance(family, DPSGD):
            return DPSGDCurve(family.sample_rate, family.rounds, parameter)
        return GaussianCurve(parameter)


@dataclass(frozen=True)
class Audited:
    """The bounds, the one that decides first, each with its guesses; and all that was seen.

    Without a bound there is no fair coin that could have chosen the records; without a claim
    there is no verdict.
    """

    question: Question
    subject: Subject
    model: str
    score: Score
    scores: Array
    outputs: Outputs
    calls: Array
    """What was guessed of each record by the first bound: 1 in, -1 out, 0 nothing."""
    bounds: Sequence[Bound]
    guesses: Sequence[Guesses]
    verdict: Verdict | None
    risk: Risk
    looks: int = 1
    """The number of this look at the coins of a kit; each later one is held to more."""
    references: Sequence[str] = ()
    warnings: Sequence[str] = field(default=())
    next_steps: Sequence[str] = field(default=())
