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
