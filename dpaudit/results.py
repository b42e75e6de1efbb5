"""The nouns of a result, in the order in which they are made: outcome, bound, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from importlib import import_module
from typing import Any, Literal, TypeAlias, Union

from dpaudit.errors import BadInput
from dpaudit.types import Array, Claim

Assumption: TypeAlias = Literal["none", "gaussian", "accountant", "prior"]
Verdict: TypeAlias = Literal[
    "VIOLATION", "NO_VIOLATION_FOUND", "INCONCLUSIVE", "NO_GUARANTEE_CLAIMED"
]
Strength: TypeAlias = Literal[
    "refuted", "strong", "weak", "null-passed", "null-failed", "not-claimed"
]
"""The claim is refuted; or at least half of it is certified, or less; or the canary is the null."""


@dataclass(frozen=True)
class Counts:
    """Errors in two worlds: `fp` of `out` trials called in, `fn` of `inn` called out."""

    fp: int
    out: int
    fn: int
    inn: int

    def __post_init__(self) -> None:
        if not (0 <= self.fp <= self.out > 0 and 0 <= self.fn <= self.inn > 0):
            sentence = f"errors must be between 0 and the number of trials, not as in {self}"
            raise BadInput(sentence, "impossible-counts", value=astuple(self))


@dataclass(frozen=True)
class Scores:
    """One score per trial, larger means more like D'; rounded before use unless `raw`."""

    out: Array
    inn: Array
    raw: bool = False


@dataclass(frozen=True)
class Guesses:
    """One run of `canaries`, each in by a coin: `guesses` of them guessed, `correct` rightly."""

    canaries: int
    guesses: int
    correct: int
    tied: bool = False
    """True if tosses chose among equal scores; `SURE` of all tosses reach `correct`."""

    def __post_init__(self) -> None:
        if not 0 <= self.correct <= self.guesses <= self.canaries or not self.guesses > 0:
            sentence = f"there must be correct <= guesses <= canaries and a guess, not {self}"
            value = self.correct, self.guesses, self.canaries
            raise BadInput(sentence, "impossible-counts", value=value)


@dataclass(frozen=True)
class Decisions:
    """Decisions in pairs, one trial of each world, in the order of trials: True = says D'."""

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
    """The number of trials that it was computed on, out and in."""
    interval: tuple[float, float] | None = None
    """A two-sided interval at the same confidence, if the method has one.

    Its upper end limits this decision rule, not the mechanism: another rule may show more.
    """
    sentence: str = ""
    """The bound, its confidence and its assumption in words."""
    guesses: Guesses | None = None
    """The guesses that were judged, if one training held many canaries."""


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
    """The source of a report's figures: the scores that each bound judged, and the canary.

    `cuts` are the scores above which each rule says D', if there is one.
    """

    scores: Sequence[Scores]
    cuts: Sequence[float | None]
    canary: Array | None = None
    original: Array | None = None


@dataclass(frozen=True)
class Growth:
    """The evidence over a run that stops once its claim is refuted.

    `wealth` is the value of a stake of 1 against the claim after each pair of models, by the
    test that decides; `beside` the same by the test without assumptions, if another one decides.
    The claim is refuted as soon as `wealth` reaches `needed`; `most` models were allowed.
    """

    wealth: Sequence[float]
    beside: Sequence[float]
    needed: float
    most: int


@dataclass(frozen=True)
class Expectation:
    """A forecast beside a weak test: the bound that is typical if all of the claim leaks.

    `adversary` is the strongest one, or empty where the mechanism knows no other. There are as
    many `models` as before, or the least number that typically makes the test strong.
    """

    adversary: str
    models: int
    typical: float


class Result:
    """The base class of results; a notebook shows each by the renderer of its class."""

    def _repr_html_(self) -> str:
        # By its name, because results know nothing of reports.
        shown: str = import_module("dpaudit.report.pages").frame(self)
        return shown


@dataclass(frozen=True, kw_only=True)
class Report(Result):
    """The claim against the primary bound, and the facts to weigh it.

    An audit without trials, of a checkpoint, leaves the fields on trials empty.
    """

    claim: Claim
    verdict: Verdict
    strength: Strength
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
    """The bounds that decide, each at its share of the error, if there are several.

    The primary is the largest of them.
    """
    deployment: str = ""
    """As in `About`, like the next two."""
    attacker: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    """The reason for the estimator that decides."""
    untested: str = ""
    """The reason why the canary changed nothing, so that there was nothing to find; else empty."""
    growth: Growth | None = None
    """The evidence over a run that stops once its claim is refuted."""
    expected: Expectation | None = None
    """The forecast of a stronger test, if this one was weak."""
    heuristic: float | None = None
    """About the most that can be found in the final model, by the last-iterate heuristic."""
    evidence: Evidence | None = field(default=None, compare=False, repr=False)

    @property
    def guesses(self) -> Guesses | None:
        """The guesses of the primary bound, if one training held many canaries."""
        return self.bounds[self.primary].guesses if self.bounds else None

    @property
    def reach(self) -> float:
        """The largest ceiling of the bounds that decide."""
        return max(self.bounds[i].ceiling for i in (self.primary, *self.deciders))
