"""The nouns of a result, in the order in which they are made: outcome, bound, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, Union

from dpaudit.errors import BadInput
from dpaudit.types import Array, Claim

Assumption: TypeAlias = Literal["none", "gaussian", "accountant", "prior"]
Verdict: TypeAlias = Literal[
    "VIOLATION", "NO_VIOLATION_FOUND", "INCONCLUSIVE", "NO_GUARANTEE_CLAIMED"
]


@dataclass(frozen=True)
class Counts:
    """Decisions in two worlds: `fp` of `out` trials called in, `fn` of `inn` called out."""

    fp: int
    out: int
    fn: int
    inn: int

    def __post_init__(self) -> None:
        if not (0 <= self.fp <= self.out > 0 and 0 <= self.fn <= self.inn > 0):
            raise BadInput(
                f"errors must be between 0 and the number of trials, not as in {self}",
                "impossible-counts",
                value=(self.fp, self.out, self.fn, self.inn),
            )


@dataclass(frozen=True)
class Scores:
    """One score per trial; larger means more like D'.

    Whoever orders them rounds them first, unless they are to be looked at `raw`.
    """

    out: Array
    inn: Array
    raw: bool = False


@dataclass(frozen=True)
class Guesses:
    """One run with many canaries: of `canaries`, `guesses` were guessed, `correct` rightly.

    `canaries` are all that were put in or left out by a coin, also those without a guess.
    """

    canaries: int
    guesses: int
    correct: int
    tied: bool = False
    """Whether tosses chose among equal scores; `correct` is then what `ties.SURE` of them reach."""

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.guesses <= self.canaries or not self.guesses > 0:
            raise BadInput(
                "there must be a guess, no more guesses than canaries and no more right ones than "
                f"guesses, not as in {self}",
                "impossible-counts",
                value=(self.correct, self.guesses, self.canaries),
            )


@dataclass(frozen=True)
class Decisions:
    """Decisions in pairs, one trial of each world, in the order of play: True = says D'."""

    out: Array
    inn: Array


Outcome: TypeAlias = Union[Counts, Scores, Guesses, Decisions]


NOTHING_TO_CHOOSE = "nothing to choose"
"""The selection of a bound whose rule was fixed without any of the trials."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on epsilon, and everything one must know to believe it."""

    epsilon: float
    delta: float
    confidence: float
    estimator: str
    assumption: Assumption
    selection: str
    ceiling: float
    attack: str = ""
    rule: str = ""
    counts: Counts | None = None
    trials: tuple[int, int] | None = None
    """How many it was computed on, out and in."""
    interval: tuple[float, float] | None = None
    """Two-sided at the same confidence, where the method has one.

    Its upper end limits what this decision rule shows, not what the mechanism leaks: another
    rule may show more.
    """
    sentence: str = ""
    """In plain words: what was shown, how surely, assuming what."""
    guesses: Guesses | None = None
    """Those that were judged, where one training held many canaries."""


@dataclass(frozen=True)
class Published:
    """The published in-sample estimate of one attack, beside the same search with no leak."""

    attack: str
    epsilon_in_sample: float
    epsilon_in_sample_std: float
    chunks: int
    null_mean: float
    null_q95: float
    permutations: int


@dataclass(frozen=True)
class Evidence:
    """What a report's figures are drawn from: per bound the scores that it judged, and the canary.

    `cuts` are the scores above which each rule says D', where it can be said so.
    """

    scores: Sequence[Scores]
    cuts: Sequence[float | None]
    canary: Array | None = None
    original: Array | None = None


@dataclass(frozen=True)
class Growth:
    """How the evidence grew in a run that was to stop as soon as its claim was refuted.

    `wealth` is what a stake of 1 against the claim had become after each pair of models, by
    what decides; `beside` the same by what assumes nothing, where that does not decide. The
    claim is refuted as soon as the first reaches `needed`. There were to be `most` models.
    """

    wealth: Sequence[float]
    beside: Sequence[float]
    needed: float
    most: int


@dataclass(frozen=True, kw_only=True)
class Report:
    """Claim against the primary bound, and what the reader needs to weigh it.

    Of what is audited without trials, a checkpoint, the fields that tell of those stay empty.
    """

    claim: Claim
    verdict: Verdict
    primary: int = 0
    bounds: Sequence[Bound]
    published: Sequence[Published] = ()
    looks: int = 1
    models: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    canary: Mapping[str, Any] = field(default_factory=dict)
    adversary: str = ""
    backend: Mapping[str, str] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    utility: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str]
    seed: int
    next_steps: Sequence[str] = ()
    warnings: Sequence[str] = ()
    defence: str = "none"
    deciders: Sequence[int] = ()
    """All bounds that were to decide, each at its share of the error, where there are several.

    The primary shows most of them.
    """
    deployment: str = ""
    """What follows from it for models that are trained and released as usual."""
    attacker: str = ""
    """The name of the adversary, where it is one of those that dpaudit list names."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """How models were trained: network, steps, batch, rates and where they start, if known."""
    why: str = ""
    """Why the estimator that decides was taken."""
    untested: str = ""
    """Why the canary changed nothing, so that there was nothing to find; else empty."""
    growth: Growth | None = None
    """Where the run was to stop as soon as its claim was refuted."""
    evidence: Evidence | None = field(default=None, compare=False, repr=False)

    @property
    def guesses(self) -> Guesses | None:
        """What the primary bound judged, where one training held many canaries."""
        return self.bounds[self.primary].guesses if self.bounds else None

    @property
    def reach(self) -> float:
        """The most that a bound which was to decide could have shown."""
        return max(self.bounds[i].ceiling for i in (self.primary, *self.deciders))
