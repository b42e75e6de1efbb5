"""Which ways can be asked about a mechanism of known epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from dpaudit import registry
from dpaudit.calibration import unsound
from dpaudit.calibration.mechanisms import KnownMechanism
from dpaudit.calibration.plays import SHOWN
from dpaudit.calibration.tabulated import Tabulated
from dpaudit.calibration.ways import (
    SELECTIONS,
    AsRun,
    Estimated,
    OfOneRun,
    OfScores,
    OneTraining,
    Selected,
    Standing,
    Way,
)
from dpaudit.curves import DPSGD, Family, family, symmetrised
from dpaudit.estimators import FREE
from dpaudit.jury import takes
from dpaudit.protocols import Attack, scoring
from dpaudit.selections import chooses
from dpaudit.types import Assumption, Claim, Counts, Curve, Guesses, Scores

LOOKED_AT = "loss"
"""The attack that estimators are compared on: its score is the released number itself."""

FINE, COARSE = (512, 3.0), (56, 1.5)
"""Tables, their size and how far beyond the truth: of formulas, and of an accountant's curves."""


def ways(mechanism: KnownMechanism, delta: float, full: bool = False) -> tuple[Way, ...]:
    """By default each attack with Clopper-Pearson, and each estimator, by hold-out; or all."""
    found: list[Way] = []
    for attack in _attacks():
        for selection in SELECTIONS:
            for estimator in registry.names("estimators"):
                common = selection == "hold-out" and (
                    estimator == FREE[Counts] or attack == LOOKED_AT
                )
                if full or common:
                    found += _selected(attack, selection, estimator, mechanism, delta)
    if full or _promised(mechanism, "gaussian", delta):
        # A third of the time, so that it is left out where the same tests are asked anyway.
        found.append(_as_run(mechanism, delta))
    for estimator in registry.names("estimators"):
        if takes(estimator) is Guesses:
            found += [OneTraining(estimator, c) for c in _curves(estimator, mechanism, delta)]
    found += [Estimated(LOOKED_AT), Estimated("all-four")]
    found.append(OfScores(unsound.best_clopper_pearson, "clopper-pearson, best cut"))
    found.append(OfScores(unsound.best_gdp, "gdp, best cut"))
    found.append(OfScores(unsound.best_katz, "katz ratio, best cut"))
    found.append(OfOneRun(unsound.best_one_run, "one-run, best count"))
    return tuple(found)


def _as_run(mechanism: KnownMechanism, delta: float) -> AsRun:
    curve: Curve | None = None
    if mechanism.curves:
        # A jury passes on what it is claimed, and its estimators take a table, too.
        table = _tabulated("rank-test", family(mechanism.curves[0], delta), mechanism, delta)
        curve = cast(Curve, table)
    return AsRun(Claim(mechanism.epsilon(delta), delta, curve=curve))


def _attacks() -> list[str]:
    """Those that fit what a play shows."""
    names = registry.names("attacks")
    return [name for name in names if registry.make("attacks", name).needs <= SHOWN]


def _selected(
    name: str, selection: str, estimator: str, mechanism: KnownMechanism, delta: float
) -> Iterator[Selected]:
    """The way, once; none where the selection has no bound for these."""
    attack: Attack = registry.make("attacks", name)
    kind = takes(estimator)
    if kind is Guesses:
        return
    credible = _assumption(estimator) == "prior"
    chosen = chooses(attack, kind)
    if selection == "DKW":
        fits = estimator in ("clopper-pearson", "gdp") and scoring(attack) != "margins"
    elif selection == "Bonferroni":
        fits = name == LOOKED_AT and kind is not Scores and not credible
    else:
        # What leaves nothing to choose has one bound, whatever the selection.
        fits = selection == "hold-out" or (chosen and not credible)
    for curve in _curves(estimator, mechanism, delta) if fits else ():
        standing: Standing = "credible" if credible else "bound"
        yield Selected(name, selection, estimator, curve, standing, all_trials=not chosen)


# ---------------------------------------------------------------- curves


def _assumption(estimator: str) -> Assumption:
    """That of every bound of an estimator which takes no curve."""
    stated = getattr(registry.load("estimators", estimator), "assumption", "none")
    return stated if isinstance(stated, str) else "none"  # type: ignore[return-value]


def _promised(mechanism: KnownMechanism, assumption: str, delta: float) -> Curve | None:
    """The curve of the mechanism that an assumption is about."""
    for curve in mechanism.curves:
        if family(curve, delta).assumption == assumption:
            return curve
    return None


def _curves(estimator: str, mechanism: KnownMechanism, delta: float) -> list[Family | str | None]:
    """What an estimator is given as a curve, as a jury would; empty where it cannot judge."""
    wanted = registry.asked(registry.load("estimators", estimator)).get("curve")
    if wanted is None:
        assumption = _assumption(estimator)
        about = assumption in ("gaussian", "accountant")
        return [] if about and not _promised(mechanism, assumption, delta) else [None]
    needed = wanted.default is wanted.empty
    if not mechanism.curves:
        return [] if needed else [_tabulated(estimator, family("pure", delta), mechanism, delta)]
    # Where nothing leaks any curve holds: an estimator that needs one is given the accountant's.
    curve = mechanism.curves[-1 if needed else 0]
    return [_tabulated(estimator, family(curve, delta), mechanism, delta)]


def _tabulated(estimator: str, curves: Family, mechanism: KnownMechanism, delta: float) -> Family:
    """A table, where looking at all curves takes long: by an accountant, or in simulations."""
    if takes(estimator) is Guesses:
        curves = symmetrised(curves)
    accountant = isinstance(curves, DPSGD)
    if not accountant and estimator != "rank-test":
        return curves
    truth = mechanism.epsilon(delta)
    return Tabulated.beyond(curves, truth, delta, *(COARSE if accountant else FINE))
