"""The nouns of an audit: claims, data, pairs and trials. Read it first, then `protocols.py`.

The way of the data::

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
    """DP-SGD that is scored step by step, while the claim is on the composition of all steps.

    The canary is in at every step of one training and at none of another; a trial is one step.
    """

    sample_rate: float
    steps: int
    noise_multiplier: float

    kind: ClassVar[str] = "dpsgd-steps"


Curve: TypeAlias = Union[GaussianCurve, DPSGDCurve, StepsCurve]
CURVES: Mapping[str, type[Curve]] = {c.kind: c for c in (GaussianCurve, DPSGDCurve, StepsCurve)}


@dataclass(frozen=True)
class Claim:
    """A promised guarantee, its unit and its source; an infinite epsilon promises nothing."""

    epsilon: float
    delta: float
    unit: str = "whole model"
    adjacency: Adjacency = "add-remove"
    curve: Curve | None = None
    source: str = "stated by the user"
    beside: Mapping[str, float] = field(default_factory=dict)
    """Other accountants' epsilon for the same mechanism: shown, never judged."""
    trials: str = "models"
    """The name of trials in a report: models, reports, users or releases."""

    @property
    def guarantees(self) -> bool:
        """True if anything is promised."""
        return math.isfinite(self.epsilon)

    @property
    def by_step(self) -> bool:
        """True if trials are single steps of the mechanism that the claim is on."""
        return isinstance(self.curve, StepsCurve)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain values, for a journal."""
        curve = self.curve and {"kind": self.curve.kind, **asdict(self.curve)}
        values = {**asdict(self), "curve": curve}
        if self.trials == Claim.trials:
            del values["trials"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Claim:
        """Return the claim of plain values."""
        curve = values["curve"]
        if curve is not None:
            # Early journals have curves without a kind.
            stated = {"kind": "gaussian" if "mu" in curve else "dpsgd", **curve}
            curve = CURVES[stated.pop("kind")](**stated)
        return cls(**{**values, "curve": curve})


@dataclass(frozen=True)
class Records:
    """Labelled records: `x` float32 (n, channels, height, width), `y` int64 (n,).

    A user's own function may take any other `x` (n, ...), such as whole numbers for tokens.
    """

    x: Array
    y: Array

    def __len__(self) -> int:
        return len(self.y)

    def without(self, index: int) -> Records:
        """Return all records but one."""
        return Records(np.delete(self.x, index, axis=0), np.delete(self.y, index))

    def plus(self, x: Array, y: int) -> Records:
        """Return all records and one more, at the end."""
        added = x[None].astype(self.x.dtype)
        return Records(np.concatenate([self.x, added]), np.append(self.y, np.int64(y)))


@dataclass(frozen=True)
class Data:
    """Three disjoint sets: the pool that D is made of, one for shadow models, and a test set."""

    name: str
    pool: Records
    shadow: Records
    test: Records
    classes: int
    bounds: tuple[float, float] | None = None
    """The least and the largest value of any record, if they are public."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one record: (channels, height, width)."""
        return tuple(self.pool.x.shape[1:])


@dataclass(frozen=True)
class Canary:
    """A record (x', y'), the name of its kind and how it was made.

    D lacks the pool's record `removed` (None: D is the whole pool). If the canary `replaces` it,
    D is the whole pool, or has the `original` there under the pool's label, and D' has the canary
    in its place. Its `kind` is a record, a gradient in a record's place, or nothing: D' is D.
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
        """True if D' has it as a record."""
        return self.kind == "record"

    @property
    def record(self) -> bool:
        """True if there is a record that attacks may ask about."""
        return self.kind != "gradient"


@dataclass(frozen=True)
class Pair:
    """The neighbouring datasets: `out` is D, `inn` is D' = D + canary, or D with one replaced."""

    out: Records
    inn: Records
    canary: Canary
    test: Records
    about: Mapping[str, Any] = field(default_factory=dict)
    """Facts for the report: the name of the data and the sizes of its sets."""
    given: Known = field(default_factory=dict)
    """The choices and knowledge of the adversary beside the canary, such as initial parameters."""
    adjacency: Adjacency = "add-remove"

    def world(self, world: int) -> Records:
        """Return the training set of one world."""
        return self.inn if world == IN else self.out


def neighbours(data: Data, canary: Canary) -> Pair:
    """Return the pair that a canary makes, as `Canary` says; its values get the pool's type."""
    canary = replace(canary, x=_typed(canary, data.pool.x.dtype))
    rest = data.pool if canary.removed is None else data.pool.without(canary.removed)
    out = data.pool if canary.replaces else rest
    if canary.replaces and canary.original is not None and canary.removed is not None:
        out = rest.plus(canary.original, int(data.pool.y[canary.removed]))
    inn = rest.plus(canary.x, canary.y) if canary.inserted else out
    sizes = {name: len(getattr(data, name)) for name in ("pool", "shadow", "test")}
    about = {"name": data.name, **sizes, "classes": data.classes}
    adjacency: Adjacency = "replace" if canary.replaces else "add-remove"
    return Pair(out, inn, canary, data.test, about, adjacency=adjacency)


def _typed(canary: Canary, dtype: np.dtype[Any]) -> Array:
    """Return the canary's values as a type; refuse to change whole numbers, such as tokens."""
    with np.errstate(invalid="ignore"):
        x: Array = canary.x.astype(dtype)
    if dtype.kind not in "fc" and not np.array_equal(x, canary.x):
        sentence = (
            f"the records are {dtype}, which cannot hold the canary {canary.name}; take another"
        )
        raise BadInput(sentence, "other-type", option="canary", value=canary.name)
    return x


@dataclass(frozen=True)
class Backend:
    """The code that trains models, and the reason for its choice."""

    name: str = "none"
    reason: str = "the mechanism's own"


@dataclass(frozen=True)
class About:
    """The facts of a mechanism and its adversary for the report."""

    adversary: str = "sees what the mechanism releases"
    """The knowledge and the view of the adversary."""
    attacker: str = ""
    """The name of the adversary, if it is one of `dpaudit list`."""
    deployment: str = ""
    """The meaning for models that are trained and released as usual."""
    breaks: str = ""
    """Where to look if the claim is refuted."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Network, steps, batch, rates and initial weights."""
    data: Mapping[str, Any] | None = None
    """The data that were used, if not all of the pair."""
    utility: Mapping[str, float] = field(default_factory=dict)
    """Figures for comparison, measured beside the trials, such as `accuracy_without_noise`."""
    warnings: Sequence[str] = ()
    """Possible mistakes of the user."""


@dataclass(frozen=True, order=True)
class Trial:
    """One trial: its index in its world, the world, and its seed."""

    index: int
    world: int
    seed: int


Observation: TypeAlias = Mapping[str, Array]
"""The named arrays that the adversary sees of one trial."""

TEST = "test_"
"""Prefix of outputs on test records, which only the first trials have."""

INSERTED = "inserted"
"""Observation of a trial with many canaries: those that were in. It is hidden from attacks."""

OWN = "own"
"""Observation of one number a row, the seed of a random defence. It is hidden from attacks."""

GIVEN = "given "
"""Prefix, in a journal, of the names in `Pair.given`."""

Observations: TypeAlias = Mapping[str, Array]
"""The same names, each with a leading axis over trials."""

Known: TypeAlias = Mapping[str, Array]
"""The knowledge of the adversary beforehand, such as the canary's label; stored once per run."""
