"""Base classes of the plug-ins: one a kind, every member declared, most with a default."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from dpaudit.results import Assumption, Bound, Counts
from dpaudit.types import (
    About,
    Adjacency,
    Array,
    Backend,
    Claim,
    Data,
    Known,
    Observation,
    Observations,
    Pair,
    Trial,
)


class Loader(ABC):
    """A reader of a data set, which also splits it; the same seed gives the same split."""

    @abstractmethod
    def load(self, seed: int) -> Data:
        """Return the pool, the shadow set and the test set."""


class CanaryBuilder(ABC):
    """A builder of a canary and of its pair of neighbouring data sets."""

    gradient: ClassVar[bool] = False
    """True if the canary is a gradient and not a record."""

    @abstractmethod
    def build(self, data: Data, seed: int) -> Pair:
        """Return the pair that `dpaudit.types.neighbours` makes of the canary."""


class Mechanism(ABC):
    """An audited mechanism. An observation depends on the pair and the trial alone.

    Its repr names everything that changes a number: only a mechanism with the same repr resumes a
    run. A subclass needs a `claim` and `run`; the other members have defaults.
    """

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """The guarantee that is tested."""

    default_settings: ClassVar[Mapping[str, Any]] = {}
    """Defaults of a run's settings for this mechanism, such as the canary."""

    backend: Backend = Backend()
    """The code that trains."""

    trials_per_call: int = 1
    """Number of trials that `run` is given at once."""

    models: int | None = None
    """Number of trials that a run must have; None if the user chooses."""

    canaries: int = 1
    """Number of canaries that one trial holds, each by a fair coin."""

    recipe: Any = None
    """The `dpaudit.training.Recipe` of shadow models; None if there are none."""

    code: str | None = None
    """Hash of the user's code, if that is audited."""

    bounded_canary: bool = False
    """True if a canary must keep to pixels from 0 to 1."""

    @abstractmethod
    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """Return one observation a trial: the same names and shapes in all of them."""

    def build_backend(self) -> Mechanism:
        """Compile and check what trains, once before a run; return the mechanism that names it."""
        return self

    def about(self, pair: Pair) -> About:
        """Return the facts of the adversary and the training for the report."""
        return About()

    def example(self) -> Observation | None:
        """Return an observation of any numbers, by which attacks that do not fit are rejected."""
        return None

    def craft(self, data: Data, seed: int) -> Known:
        """Return what the adversary chooses before the canary; builders may take it by name.

        It is in `Pair.given`, and attacks know it.
        """
        return {}

    def known(self, pair: Pair) -> Known:
        """Return the adversary's knowledge of pair and mechanism, for `Pair.given`; once a run."""
        return {}

    def refuse(self, pair: Pair) -> None:
        """Raise `BadInput` if this pair cannot be used."""
        return

    def rehearse(self, pair: Pair, executor: Executor) -> None:
        """Raise `BadInput` if the mechanism does not work as it must; called once before a run."""
        return

    def equal_pairs(self, pair: Pair, executor: Executor) -> int:
        """Return the number of seeds tried if all gave the same in both worlds, else 0."""
        return 0

    def files(self) -> Sequence[Path]:
        """Return the modules that workers on other machines need."""
        return ()

    @classmethod
    def unused_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the settings that have no effect beside the others, each with the reason."""
        return {}


@runtime_checkable
class SharingExecutor(Protocol):
    """An executor that sends a value to each worker once, and not with every task."""

    def share(self, value: Any) -> Any:
        """Return what tasks are given in place of the value."""


class Defence(ABC):
    """Post-processing of observations, row by row: it cannot leak more.

    Rows, the leading axis of all arrays, are trials, or the test records of utility. A name that it
    leaves out is no longer released. A Bayesian network has `mc` (rows, T, classes), `mean` and
    `std`; a plain one `logits` and `probabilities`; anything else `values`.
    """

    random: ClassVar[bool] = False
    """True if it draws. It then gets `own` (rows,), a number for each row, as its only seed."""

    @abstractmethod
    def protect(self, seen: Observations) -> Observations:
        """Return the observations that are still released."""


class Criterion(Protocol):
    """A rating of rules by their error counts, vectorised over `fp` and `fn`."""

    def __call__(self, fp: Array, out: int, fn: Array, inn: int) -> Array: ...


class Rule(ABC):
    """A fixed decision rule."""

    how: str = ""
    """The search for it, in words."""

    raw: bool = False
    """True if its scores must not be rounded."""

    @property
    def cut(self) -> float | None:
        """The score above which it says D', if there is one."""
        return None

    @abstractmethod
    def score(self, features: Array) -> Array:
        """Return one number per trial, larger = more like D'."""

    @abstractmethod
    def decide(self, features: Array) -> Array:
        """Return one bool per trial, True = says D'."""


Scoring: TypeAlias = Literal["fixed", "learned", "margins"]
"""The source of the scores of an attack's rules.

`fixed` beforehand: only the threshold is chosen, so that a test without one may use all trials;
`learned` with the rule; `margins` of thresholds on several statistics, so that the rule's
decisions show more than its score.
"""


class Attack(ABC):
    """A way from observations to a rule, in two steps.

    `features` makes one row per trial, whatever the worlds; `fit` chooses the rule on the choosing
    half of the rows. A repeated search, on chunks or shuffled worlds, makes the features once.
    """

    needs: frozenset[str] = frozenset()
    """Names of observations that must all be there."""

    any_of: frozenset[str] = frozenset()
    """Names of observations of which one must be there, if any are named."""

    fitted: bool = True
    """False if nothing is chosen, so that the rule may be judged on all trials."""

    scoring: Scoring = "learned"
    """The source of the scores."""

    @abstractmethod
    def features(self, seen: Observations, known: Known) -> Array:
        """Return one row of numbers per trial."""

    @abstractmethod
    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> Rule:
        """Return the rule that does best on these trials by the criterion."""

    def raw(self) -> Attack | None:
        """Return the same attack on scores that are not rounded; None if it has none."""
        return None


class Estimator(ABC):
    """A way from an outcome to a bound."""

    takes: type = Counts
    """The kind of outcome that it needs."""

    @property
    def assumption(self) -> Assumption:
        """The assumption of its bounds on the mechanism."""
        return "none"

    @property
    def criterion(self) -> Criterion | None:
        """The rating of rules for it; None for that of the bound without assumption."""
        return None

    @property
    def assumed_curve(self) -> tuple[Any, Adjacency] | None:
        """The curve, or family of curves, of its assumption, and its adjacency."""
        return None

    @abstractmethod
    def bound(self, outcome: Any, delta: float) -> Bound:
        """Return the lower bound on epsilon at this delta."""


def repr_of(mechanism: Mechanism, *first: object, names: Iterable[str]) -> str:
    """Return `Type(first, ..., name=value, ...)` with the attributes of these names."""
    named = [f"{name}={getattr(mechanism, name)!r}" for name in names]
    return f"{type(mechanism).__name__}({', '.join([*map(str, first), *named])})"


def has_fixed_score(attack: Attack) -> bool:
    """Return whether all of an attack's scores are fixed before the first trial."""
    return not attack.fitted or attack.scoring == "fixed"


def lacking(attack: Attack, there: Iterable[str]) -> str:
    """Return the names that an attack needs and that are missing; empty if it fits."""
    names = frozenset(there)
    if missing := sorted(attack.needs - names):
        return ", ".join(missing)
    if not attack.any_of or attack.any_of & names:
        return ""
    *others, last = sorted(attack.any_of)
    return f"{', '.join(others)} or {last}" if others else last
