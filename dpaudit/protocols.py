"""What a plug-in must be: one Protocol per kind, whose docstring is the contract."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol, TypeAlias, cast

from dpaudit.types import (
    Array,
    Bound,
    Claim,
    Data,
    Known,
    Observation,
    Observations,
    Outcome,
    Pair,
    Trial,
)


class Loader(Protocol):
    """Reads a data set and splits it; the same seed gives the same split."""

    def load(self, seed: int) -> Data: ...


class CanaryBuilder(Protocol):
    """Chooses or crafts the canary; makes its pair with `neighbours`."""

    def build(self, data: Data, seed: int) -> Pair: ...


class Mechanism(Protocol):
    """What is audited. A trial's observation depends on the pair and the trial alone.

    Its repr says everything that changes a number: a run is resumed only by a mechanism of
    the same repr. Optional attributes, told in the report where they are there: `adversary`,
    `backend`, `backend_reason`, `deployment` (what follows for releases as usual), `breaks`
    (where to look if the claim is refuted; all of these are words) and `cautions` (a list of
    warnings); what depends on the pair is given by a method `about(pair)`, by the names of
    `Report`. An optional `example`, an observation of which only names and shapes matter, lets an
    attack or a defence that does not fit be refused before anything is played. Others make a run
    work: `sets`, settings that it brings along where its user does not give them; a static method
    `idle(own)`, which names settings that those of its own make idle, and why; `at_once`, how
    many trials a call of `play` is given; `known`, arrays that the adversary has beforehand;
    `foresee(pair)`, those that depend on the pair, which `play` finds in its `given`, and attacks
    among what is known under 'given NAME';
    `told_apart`, the two labels between which the canary `replaced` shows most; a method
    `craft(data, seed)`, what the adversary chooses before the canary, by the names that a canary
    asks for: `initial` parameters, or `opposites`, the two records that are kept apart worst;
    `refuse(pair)`, which raises what is wrong with a pair that it cannot be played on, before
    anything is written.
    """

    @property
    def claim(self) -> Claim: ...

    def play(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]: ...


class Defence(Protocol):
    """Post-processing of what is released, row by row: it cannot leak more.

    It is given, and gives back, named arrays with a leading axis over rows: trials, or the test
    records that utility is measured on. A name that it leaves out is no longer released. Of a
    Bayesian network these are `mc` (rows, T, classes), its `mean` and `std`; of a plain one
    `logits` and `probabilities`; of anything else `values`.

    Optional: `random`, True of one that draws. It is then given `own` (rows,) too, a number that
    each row has for itself, and takes its draws from nothing else. They are then the same
    whenever the same trials are judged, and independent from trial to trial whatever these hold.
    """

    def protect(self, seen: Observations) -> Observations: ...


class Criterion(Protocol):
    """How good a rule looks from its error counts; vectorised over `fp` and `fn`."""

    def __call__(self, fp: Array, out: int, fn: Array, inn: int) -> Array: ...


class Rule(Protocol):
    """A decision rule that is fixed: nothing in it will be chosen any more."""

    def score(self, features: Array) -> Array:
        """One number per trial, larger = more like D'."""
        ...

    def decide(self, features: Array) -> Array:
        """One bool per trial, True = says D'."""
        ...


class Attack(Protocol):
    """Turns observations into a rule, in two steps.

    `features` is what it looks at, one row per trial, whatever the worlds; `fit` chooses the
    rule, on the choosing half of the rows only. So a search that is repeated, on chunks or on
    shuffled worlds, reads the observations once. `needs` names the observations that must be
    there; `fitted` is False where there is nothing to choose, so that the rule may be judged
    on all trials. Optional: `any_of`, names of which one must be there; `scoring`, see
    below; `raw()`, the same attack on scores that are not rounded.
    """

    needs: frozenset[str]
    fitted: bool

    def features(self, seen: Observations, known: Known) -> Array: ...

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> Rule: ...


Scoring: TypeAlias = Literal["fixed", "learned", "margins"]
"""Where the scores of an attack's rules come from.

`fixed`: beforehand, only the threshold is chosen, so that a test without one may have all
trials; `learned` with the rule; `margins` of thresholds on several statistics, so that the
rule's decisions say more than its score.
"""


def scoring(attack: Attack) -> Scoring:
    """What an attack says of its scores, or else what `fitted` implies."""
    implied = "learned" if attack.fitted else "fixed"
    return cast(Scoring, getattr(attack, "scoring", implied))


class Estimator(Protocol):
    """Turns an outcome into a bound.

    Optional attributes: `takes`, the kind of outcome that it needs, where that is not `Counts`;
    `assumption`, as its bounds have it, so that it can be refused before anything is judged;
    `criterion`, by which rules are chosen for it, where that is not the bound without assumption.
    """

    def bound(self, outcome: Outcome, delta: float) -> Bound: ...


def lacking(attack: Attack, there: Iterable[str]) -> str:
    """What an attack needs and is not there, in words; nothing where it fits."""
    names = frozenset(there)
    if missing := sorted(attack.needs - names):
        return ", ".join(missing)
    enough: frozenset[str] = getattr(attack, "any_of", frozenset())
    if not enough or enough & names:
        return ""
    *others, last = sorted(enough)
    return f"{', '.join(others)} or {last}" if others else last
