"""The nouns of an audit. Read this file first, then `protocols.py`.

The way of the data, one direction, no way back::

    data -> canary -> pair (D, D') -> mechanism -> journal -> defence -> attack -> estimator
         -> report
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias, Union

import numpy as np
import numpy.typing as npt

from dpaudit.errors import BadInput

Array: TypeAlias = npt.NDArray[Any]

OUT, IN = 0, 1
"""The two worlds: trained on D (the canary is out) and on D' (the canary is in)."""

Adjacency: TypeAlias = Literal["add-remove", "replace"]
Assumption: TypeAlias = Literal["none", "gaussian", "accountant", "prior"]
Verdict: TypeAlias = Literal[
    "VIOLATION", "NO_VIOLATION_FOUND", "INCONCLUSIVE", "NO_GUARANTEE_CLAIMED"
]


# ---------------------------------------------------------------- what is promised


@dataclass(frozen=True)
class GaussianCurve:
    """The trade-off curve of a Gaussian mechanism of sensitivity/deviation `mu`."""

    mu: float

    kind: ClassVar[str] = "gaussian"


@dataclass(frozen=True)
class DPSGDCurve:
    """The trade-off curve of `steps` Poisson-subsampled Gaussian mechanisms."""

    sample_rate: float
    steps: int
    noise_multiplier: float

    kind: ClassVar[str] = "dpsgd"


@dataclass(frozen=True)
class StepsCurve:
    """DP-SGD that is promised as a whole and scored step by step: a trial is a single step.

    The canary is in at every step of one training and at none of another. What a step leaks is
    not what is promised; the composition of `steps` steps at `sample_rate` is.
    """

    sample_rate: float
    steps: int
    noise_multiplier: float

    kind: ClassVar[str] = "dpsgd-steps"


Curve: TypeAlias = Union[GaussianCurve, DPSGDCurve, StepsCurve]
CURVES: Mapping[str, type[Curve]] = {c.kind: c for c in (GaussianCurve, DPSGDCurve, StepsCurve)}


@dataclass(frozen=True)
class Claim:
    """What is promised, for which unit, and who says so; an infinite epsilon promises nothing."""

    epsilon: float
    delta: float
    unit: str = "whole model"
    adjacency: Adjacency = "add-remove"
    curve: Curve | None = None
    source: str = "stated by the user"
    beside: Mapping[str, float] = field(default_factory=dict)
    """Other accountants' epsilon for the same mechanism: shown, never judged."""
    trials: str = "models"
    """What a report calls the trials: models, or what else the mechanism gives (reports, users,
    releases)."""

    @property
    def guarantees(self) -> bool:
        """Whether anything is promised."""
        return math.isfinite(self.epsilon)

    @property
    def by_step(self) -> bool:
        """Whether trials are single steps of what is promised: what one leaks is another number."""
        return isinstance(self.curve, StepsCurve)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for a journal."""
        curve = self.curve and {"kind": self.curve.kind, **asdict(self.curve)}
        values = {**asdict(self), "curve": curve}
        if self.trials == Claim.trials:
            del values["trials"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Claim:
        """The claim that `to_dict` wrote down."""
        curve = values["curve"]
        if curve is not None:
            # Before single steps were scored, the kind was told by the fields alone.
            told = {"kind": "gaussian" if "mu" in curve else "dpsgd", **curve}
            curve = CURVES[told.pop("kind")](**told)
        return cls(**{**values, "curve": curve})


# ---------------------------------------------------------------- what is trained on


@dataclass(frozen=True)
class Records:
    """Labelled records: `x` float32 (n, channels, height, width), `y` int64 (n,).

    A user's own function may be given any other `x` (n, ...) too, such as whole numbers that are
    tokens.
    """

    x: Array
    y: Array

    def __len__(self) -> int:
        return len(self.y)

    def without(self, index: int) -> Records:
        """All records but one."""
        return Records(np.delete(self.x, index, axis=0), np.delete(self.y, index))

    def plus(self, x: Array, y: int) -> Records:
        """All records and one more, at the end."""
        added = x[None].astype(self.x.dtype)
        return Records(np.concatenate([self.x, added]), np.append(self.y, np.int64(y)))


@dataclass(frozen=True)
class Data:
    """Three disjoint sets: the pool that D is made of, shadow models' own, and a test set."""

    name: str
    pool: Records
    shadow: Records
    test: Records
    classes: int
    bounds: tuple[float, float] | None = None
    """The least and the largest value that any record may have, where that is public knowledge."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one record: (channels, height, width)."""
        return tuple(self.pool.x.shape[1:])


@dataclass(frozen=True)
class Canary:
    """A record (x', y'), the name of its kind and how it was made.

    `removed` is the pool's record that D does without (None: D is the whole pool), unless the
    canary `replaces` it: then D is the whole pool, and D' has the canary in its place. If it has
    an `original` too, D has that there, under the pool's label.
    Its `kind` is a record, a gradient that takes a record's place, or nothing, where D' is D.
    """

    x: Array
    y: int
    name: str
    made: str
    removed: int | None = None
    original: Array | None = None
    kind: Literal["record", "gradient", "nothing"] = "record"
    replaces: bool = False

    @property
    def inserted(self) -> bool:
        """Whether D' has it as a record."""
        return self.kind == "record"

    @property
    def record(self) -> bool:
        """Whether there is a record that attacks may ask about."""
        return self.kind != "gradient"


@dataclass(frozen=True)
class Pair:
    """The neighbouring datasets: `out` is D, `inn` is D' = D + canary, or D with one replaced."""

    out: Records
    inn: Records
    canary: Canary
    test: Records
    about: Mapping[str, Any] = field(default_factory=dict)
    """What a report says of the data: its name and the sizes of its sets."""
    given: Known = field(default_factory=dict)
    """What the adversary has beside the canary: initial parameters or gradients that it has
    chosen, and what it can foresee of the mechanism in either world."""
    adjacency: Adjacency = "add-remove"

    def world(self, world: int) -> Records:
        """The training set of one world."""
        return self.inn if world == IN else self.out


def neighbours(data: Data, canary: Canary) -> Pair:
    """The pair that a canary makes: D is the pool without `canary.removed`, D' has the canary.

    A canary that replaces a record takes its place in D', and D keeps it, or has the canary's
    original there. Its values are of the type that the pool has.
    """
    canary = replace(canary, x=_typed(canary, data.pool.x.dtype))
    rest = data.pool if canary.removed is None else data.pool.without(canary.removed)
    out = data.pool if canary.replaces else rest
    if canary.replaces and canary.original is not None and canary.removed is not None:
        out = rest.plus(canary.original, int(data.pool.y[canary.removed]))
    inn = rest.plus(canary.x, canary.y) if canary.inserted else out
    about = {
        "name": data.name,
        "pool": len(data.pool),
        "shadow": len(data.shadow),
        "test": len(data.test),
        "classes": data.classes,
    }
    adjacency: Adjacency = "replace" if canary.replaces else "add-remove"
    return Pair(out, inn, canary, data.test, about, adjacency=adjacency)


def _typed(canary: Canary, dtype: np.dtype[Any]) -> Array:
    """The canary's values as a type; refuses to change whole numbers, such as tokens."""
    with np.errstate(invalid="ignore"):
        x: Array = canary.x.astype(dtype)
    if dtype.kind not in "fc" and not np.array_equal(x, canary.x):
        raise BadInput(
            f"the canary {canary.name} has values that {dtype} cannot hold, the type of the "
            "records; take another canary",
            "other-type",
            option="canary",
            value=canary.name,
        )
    return x


# ---------------------------------------------------------------- what is seen


@dataclass(frozen=True)
class Backend:
    """The code that trains models, and why it was chosen."""

    name: str = "none"
    reason: str = "the mechanism's own"


@dataclass(frozen=True)
class About:
    """What a report tells of a mechanism and of who attacks it."""

    adversary: str = "sees what the mechanism releases"
    """What the adversary knows and sees."""
    attacker: str = ""
    """The name of the adversary, if it is one of those that `dpaudit list` names."""
    deployment: str = ""
    """What follows for models that are trained and released as usual."""
    breaks: str = ""
    """Where to look if the claim is refuted."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """How models were trained: network, steps, batch, rates and where they start."""
    data: Mapping[str, Any] | None = None
    """The data that were used, if not all that the pair has."""
    warnings: Sequence[str] = ()
    """What the user may have got wrong without noticing."""


@dataclass(frozen=True, order=True)
class Trial:
    """One trial: its index in its world, the world, and its seed."""

    index: int
    world: int
    seed: int


Observation: TypeAlias = Mapping[str, Array]
"""The named arrays that the adversary sees of one trial."""

TEST = "test_"
"""Names that begin so are outputs on test records, which only the first trials show."""

INSERTED = "inserted"
"""Of a trial with many canaries: which of them were in. The truth, which no attack is shown."""

OWN = "own"
"""A number that each row has for itself: what a random defence draws from.

It says nothing of the row, and no attack is shown it.
"""

GIVEN = "given "
"""In a journal, before the names of what an adversary chose or knows beside the canary."""

Observations: TypeAlias = Mapping[str, Array]
"""The same names, each with a leading axis over trials."""

Known: TypeAlias = Mapping[str, Array]
"""What the adversary has beforehand (the canary's label), stored once per run."""


# ---------------------------------------------------------------- what is concluded


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
