"""A family of curves of which only some are looked at, so that an accountant computes few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpaudit import registry
from dpaudit.accounting.curves import DPSGD, Family, Numbers, family, symmetrised
from dpaudit.calibration import other_tools
from dpaudit.calibration.methods import (
    PURE,
    AsRun,
    OneTraining,
    Selected,
    Standing,
    UntilDecided,
    Way,
)
from dpaudit.calibration.other_tools import Estimated, OfOneRun, OfScores
from dpaudit.calibration.simulated import SHOWN, KnownMechanism
from dpaudit.config.settings import ALL, Judging
from dpaudit.estimators import FREE
from dpaudit.estimators.selections import chooses
from dpaudit.judging.panel import takes
from dpaudit.protocols import Attack, lacking
from dpaudit.results import Assumption, Counts, Guesses
from dpaudit.types import Array, Claim, Curve

SIZE, REACH = 56, 1.5
"""How many curves an accountant is asked for, and up to how many times the true epsilon."""


@dataclass(frozen=True)
class Tabulated:
    """Some steps of a family, in their order; the first is 0, no leak.

    A bound under it is the same rounded down to the table: the most leaking curve of these that
    is refuted, and never above the last. It is above the truth exactly if that of the whole
    family is, as long as the first step beyond the truth is in the table, because all curves
    below a refuted one are.
    """

    family: Family
    kept: tuple[int, ...]

    @classmethod
    def beyond(
        cls,
        family: Family,
        epsilon: float,
        delta: float,
        size: int = SIZE,
        reach: float = REACH,
    ) -> Tabulated:
        """Evenly to `reach` times the true epsilon, with the first step that is above it."""
        first = _first_above(family, epsilon, delta)
        end = _first_above(family, reach * epsilon or 2.0, delta)
        even = np.linspace(0, end, size).astype(int).tolist()
        return cls(family, tuple(sorted({*even, first})))

    @property
    def assumption(self) -> Assumption:
        return self.family.assumption

    @property
    def steps(self) -> int:
        return len(self.kept) - 1

    def parameter(self, step: int) -> float:
        return self.family.parameter(self.kept[step])

    def trade_off(self, parameter: float, x: Numbers) -> Array:
        return self.family.trade_off(parameter, x)

    def inn(self, parameter: float, u: Numbers) -> Array:
        return self.family.inn(parameter, u)

    def area(self, parameter: float) -> float:
        return self.family.area(parameter)

    def epsilon(self, parameter: float, delta: float) -> float:
        return self.family.epsilon(parameter, delta)


def _first_above(family: Family, epsilon: float, delta: float) -> int:
    """The first step whose curve leaks more."""
    low, high = 0, family.steps
    while high - low > 1:
        middle = (low + high) // 2
        if family.epsilon(family.parameter(middle), delta) > epsilon:
            high = middle
        else:
            low = middle
    return high


# ----------------------------------------------------------------
# Which ways can be asked about a mechanism of known epsilon.


LOOKED_AT = "loss"
"""The attack that estimators are compared on: its score is the released number itself."""

QUICK = ("clopper-pearson", "gdp", "one-run", "paired-auc", "pld")
"""Estimators that judge a thousand trials in a moment."""

TOGETHER = ("loss", "mean", "released")
"""Attacks that bet together by default; all that a run has take three times as long."""

SPENDING = "randomized response, delta 0.1"
"""The name of the mechanism that spends its delta."""

BY_DEFAULT: dict[str, tuple[str, ...]] = {
    "attacks": ("no leak", "Gaussian", "Laplace", "randomized response", "subsampled Gaussian"),
    "joint-beta, hold-out": ("randomized response",),
    "rank-test, pure curve": ("randomized response",),
    "paired-auc, pure curve": ("no leak", "Laplace", "randomized response", SPENDING),
    "many trials": ("no leak", "Laplace"),
    "picked": ("Gaussian", "randomized response", "subsampled Gaussian"),
    "all decide": (),
    "until decided": ("randomized response", SPENDING, "subsampled Gaussian"),
    "together": ("Gaussian",),
    "all-four": ("no leak", "Laplace"),
}
"""The mechanisms that are asked by default what takes long."""


def ways(mechanism: KnownMechanism, delta: float, full: bool = False) -> Iterator[Way]:
    """By default each estimator by hold-out, and what decides a run; or all there are."""
    for attack in _attacks():
        for estimator in registry.names("estimators"):
            common = attack == LOOKED_AT or (
                estimator == FREE[Counts] and _usual("attacks", mechanism)
            )
            for way in _selected(attack, estimator, mechanism, delta):
                if full or (common and _usual(way.judged, mechanism)):
                    yield way
    for estimator in registry.names("estimators"):
        yield from _one_training(estimator, mechanism, delta)
    yield from _judgements(mechanism, delta, full)
    if full or _usual("all-four", mechanism):
        yield Estimated("all-four")
    yield from _no_bounds()
    yield OfOneRun(other_tools.best_one_run, "one-run, best count")


def quick_ways(mechanism: KnownMechanism, delta: float, full: bool) -> Iterator[Way]:
    """Those that many more trials can be asked of, because they take little longer."""
    if not (full or _usual("many trials", mechanism)):
        return
    for estimator in QUICK:
        yield from _selected(LOOKED_AT, estimator, mechanism, delta)
        yield from _one_training(estimator, mechanism, delta)
    yield from _no_bounds()


def _usual(what: str, mechanism: KnownMechanism) -> bool:
    """Whether it is asked by default."""
    return what not in BY_DEFAULT or mechanism.name in BY_DEFAULT[what]


def _no_bounds() -> Iterator[Way]:
    yield Estimated(LOOKED_AT)
    yield OfScores(other_tools.best_clopper_pearson, "clopper-pearson, best cut")
    yield OfScores(other_tools.best_gdp, "gdp, best cut")
    yield OfScores(other_tools.best_katz, "katz ratio, best cut")


def _judgements(mechanism: KnownMechanism, delta: float, full: bool) -> Iterator[Way]:
    """What decides a run with the claim that holds: at once, and while pairs come in."""
    curve = mechanism.curves[0] if mechanism.curves else None
    claim = Claim(mechanism.epsilon(delta), delta, curve=curve)
    curves = None if curve is None else _given("rank-test", curve, mechanism, delta)
    if full or _usual("picked", mechanism):
        yield AsRun(claim, curves)
    if full or _usual("all decide", mechanism):
        yield AsRun(claim, curves, primary=ALL)
    if full:
        yield from (AsRun(claim, curves, looks=looks) for looks in (2, 3))
    for estimator in ("auc-bet", "e-process") if curve else ("e-process",):
        if full or _usual("until decided", mechanism):
            yield UntilDecided(claim, curves, (LOOKED_AT,), estimator)
        if full or _usual("together", mechanism):
            names = tuple(Judging.attacks) if full else TOGETHER
            yield UntilDecided(claim, curves, names, estimator)


def _attacks() -> list[str]:
    """Those that fit what a play shows."""
    names = registry.names("attacks")
    return [name for name in names if not lacking(registry.make("attacks", name), SHOWN)]


def _one_training(estimator: str, mechanism: KnownMechanism, delta: float) -> Iterator[Way]:
    if takes(estimator) is Guesses:
        # Of several curves the mechanism's own: whatever assumes nothing is `one-run` itself.
        yield OneTraining(
            estimator, _curves(estimator, mechanism, delta)[0], _claim(mechanism, delta)
        )


def _claim(mechanism: KnownMechanism, delta: float) -> Claim:
    """What holds of the mechanism; of one that leaks nothing a claim that one could make."""
    curve = mechanism.curves[0] if mechanism.curves else None
    return Claim(mechanism.epsilon(delta) or 1.0, delta, curve=curve)


def _selected(
    name: str, estimator: str, mechanism: KnownMechanism, delta: float
) -> Iterator[Selected]:
    """The way, by each curve that holds; none of an estimator of guesses."""
    attack: Attack = registry.make("attacks", name)
    kind = takes(estimator)
    if kind is Guesses:
        return
    standing: Standing = "credible" if _assumption(estimator) == "prior" else "bound"
    everything = not chooses(attack, kind)
    for curve in _curves(estimator, mechanism, delta):
        yield Selected(name, estimator, curve, standing, all_trials=everything)


# ---------------------------------------------------------------- curves


def _assumption(estimator: str) -> Assumption:
    """That of every bound of an estimator which takes no curve."""
    stated = registry.load("estimators", estimator).assumption
    return stated if isinstance(stated, str) else "none"  # type: ignore[return-value]


def _curves(estimator: str, mechanism: KnownMechanism, delta: float) -> list[Family | str | None]:
    """What an estimator is given as a curve, as a panel would; empty where it cannot judge."""
    wanted = registry.parameters(registry.load("estimators", estimator)).get("curve")
    if wanted is None:
        assumption = _assumption(estimator)
        promised = {family(curve, delta).assumption for curve in mechanism.curves}
        about = assumption in ("gaussian", "accountant")
        return [] if about and assumption not in promised else [None]
    needed = wanted.default is wanted.empty
    if not mechanism.curves:
        return [] if needed else [PURE]
    # Where nothing leaks any curve holds: an estimator that needs one is given the accountant's.
    curve = _given(estimator, mechanism.curves[-1 if needed else 0], mechanism, delta)
    return [curve] if needed else [curve, PURE]


def _given(estimator: str, curve: Curve, mechanism: KnownMechanism, delta: float) -> Family:
    """The curve's family; of an accountant's a table, because each of them takes long."""
    curves = family(curve, delta)
    if takes(estimator) is Guesses:
        curves = symmetrised(curves)
    if not isinstance(curves, DPSGD):
        return curves
    return Tabulated.beyond(curves, mechanism.epsilon(delta), delta)
