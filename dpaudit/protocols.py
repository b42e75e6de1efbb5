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
    """Reads a data set and splits it; the same seed gives the same split."""

    @abstractmethod
    def load(self, seed: int) -> Data:
        """Return the pool, the shadow set and the test set."""


class CanaryBuilder(ABC):
    """Chooses or crafts the canary and makes the pair of neighbouring data sets."""

    gradient: ClassVar[bool] = False
    """True if the canary is a gradient and not a record."""

    @abstractmethod
    def build(self, data: Data, seed: int) -> Pair:
        """Return the pair that `dpaudit.types.neighbours` makes of the canary."""


class Mechanism(ABC):
    """What is audited. An observation depends on the pair and the trial alone.

    Its repr names everything that changes a number: only a mechanism with the same repr resumes a
    run. A subclass needs a `claim` and `run`; all else has a default.
    """

    @property
    @abstractmethod
    def claim(self) -> Claim:
        """The guarantee that is tested."""

    default_settings: ClassVar[Mapping[str, Any]] = {}
    """Settings of a run that this mechanism changes the defaults of, such as the canary."""

    backend: Backend = Backend()
    """The code that trains, and why it was chosen."""

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

    rehearses: bool = False
    """True if `rehearse` is to be called before a run begins."""

    @abstractmethod
    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """Return one observation a trial: the same names and shapes in all of them."""

    def build_backend(self) -> Mechanism:
        """Compile and check what trains, once before a run; return the mechanism that names it."""
        return self

    def about(self, pair: Pair) -> About:
        """Describe the adversary, the training and what to know of them, for the report."""
        return About()

    def example(self) -> Observation | None:
        """Return an observation with any numbers, so that attacks that do not fit are rejected."""
        return None

    def craft(self, data: Data, seed: int) -> Known:
        """Return what the adversary chooses before the canary.

        A canary builder may ask for it by name. It is in `Pair.given`, and attacks know it.
        """
        return {}

    def known(self, pair: Pair) -> Known:
        """Return what the adversary knows of the pair and the mechanism; computed once a run.

        `run` finds it in `Pair.given`, and attacks are given it.
        """
        return {}

    def refuse(self, pair: Pair) -> None:
        """Raise `BadInput` if this pair cannot be used."""
        return

    def rehearse(self, pair: Pair, executor: Executor) -> None:
        """Raise `BadInput` if the mechanism does not work as it must; called once, at the start."""
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
    """Post-processing of what is released, row by row: it cannot leak more.

    It is given, and returns, named arrays with a leading axis over rows: trials, or the test
    records that utility is measured on. A name that it leaves out is no longer released. A
    Bayesian network has `mc` (rows, T, classes), its `mean` and `std`; a plain one `logits` and
    `probabilities`; anything else `values`.
    """

    random: ClassVar[bool] = False
    """True if it draws. It is then given `own` (rows,), a number for each row, as its only seed."""

    @abstractmethod
    def protect(self, seen: Observations) -> Observations:
        """Return what is still released."""


class Criterion(Protocol):
    """Rates a rule by its error counts; vectorised over `fp` and `fn`."""

    def __call__(self, fp: Array, out: int, fn: Array, inn: int) -> Array: ...


class Rule(ABC):
    """A fixed decision rule: nothing in it is chosen any more."""

    how: str = ""
    """How it was searched, in words."""

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
"""Where the scores of an attack's rules come from.

`fixed`: beforehand, only the threshold is chosen, so that a test without one may have all
trials; `learned` with the rule; `margins` of thresholds on several statistics, so that the
rule's decisions say more than its score.
"""


class Attack(ABC):
    """Turns observations into a rule, in two steps.

    `features` is what it looks at, one row per trial, whatever the worlds; `fit` chooses the
    rule, on the choosing half of the rows only. So a search that is repeated, on chunks or on
    shuffled worlds, reads the observations once.
    """

    needs: frozenset[str] = frozenset()
    """Names of observations that must all be there."""

    any_of: frozenset[str] = frozenset()
    """Names of observations of which one must be there, if any are named."""

    fitted: bool = True
    """False if nothing is chosen, so that the rule may be judged on all trials."""

    scoring: Scoring = "learned"
    """Where the scores come from."""

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
    """Turns an outcome into a bound."""

    takes: type = Counts
    """The kind of outcome that it needs."""

    @property
    def assumption(self) -> Assumption:
        """What its bounds assume of the mechanism."""
        return "none"

    @property
    def criterion(self) -> Criterion | None:
        """Rates rules for it; None for the bound without assumption."""
        return None

    @property
    def assumed_curve(self) -> tuple[Any, Adjacency] | None:
        """The curve, or family of curves, that it was made for, and its adjacency."""
        return None

    @abstractmethod
    def bound(self, outcome: Any, delta: float) -> Bound:
        """Return the lower bound on epsilon at this delta."""


def has_fixed_score(attack: Attack) -> bool:
    """Return whether all of an attack's scores are fixed before the first trial."""
    return not attack.fitted or attack.scoring == "fixed"


def lacking(attack: Attack, there: Iterable[str]) -> str:
    """Name what an attack needs and is not there; empty if it fits."""
    names = frozenset(there)
    if missing := sorted(attack.needs - names):
        return ", ".join(missing)
    if not attack.any_of or attack.any_of & names:
        return ""
    *others, last = sorted(attack.any_of)
    return f"{', '.join(others)} or {last}" if others else last
