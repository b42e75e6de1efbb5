"""The methods that can be used on a mechanism of known epsilon, and those used by default."""

from __future__ import annotations

from collections.abc import Iterator

from dpaudit import registry
from dpaudit.accounting.curves import DPSGDFamily, Family, family, symmetric
from dpaudit.accounting.sampled import Tabulated
from dpaudit.calibration.methods import (
    PURE,
    AsRun,
    Method,
    OneTraining,
    Selected,
    UntilDecided,
    assumption_of,
)
from dpaudit.calibration.other_tools import BEST_COUNT, BEST_CUTS, in_sample_estimate
from dpaudit.calibration.simulated import SHOWN, KnownMechanism
from dpaudit.config.settings import ALL, Judging
from dpaudit.estimators import FREE
from dpaudit.judging.panel import outcome_kind
from dpaudit.protocols import lacking
from dpaudit.results import Counts, Guesses
from dpaudit.types import Claim, Curve

SIZE, REACH = 56, 1.5
"""Number of curves computed by an accountant, up to this multiple of the true epsilon."""

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
"""The mechanisms on which slow methods are used by default."""


def usable_methods(mechanism: KnownMechanism, delta: float, full: bool = False) -> Iterator[Method]:
    """Yield each estimator by hold-out and what decides a run; or all methods if `full`."""
    estimators = registry.names("estimators")
    for attack in _attacks():
        for estimator in estimators:
            common = attack == LOOKED_AT or (
                estimator == FREE[Counts] and _usual("attacks", mechanism)
            )
            for method in _selected(attack, estimator, mechanism, delta):
                if full or (common and _usual(method.judged, mechanism)):
                    yield method
    for estimator in estimators:
        yield from _one_training(estimator, mechanism, delta)
    yield from _deciding(mechanism, delta, full)
    if full or _usual("all-four", mechanism):
        yield in_sample_estimate("all-four")
    yield from (in_sample_estimate(LOOKED_AT), *BEST_CUTS, BEST_COUNT)


def quick_methods(mechanism: KnownMechanism, delta: float, full: bool) -> Iterator[Method]:
    """Yield the methods that take little longer with many more trials."""
    if not (full or _usual("many trials", mechanism)):
        return
    for estimator in QUICK:
        yield from _selected(LOOKED_AT, estimator, mechanism, delta)
        yield from _one_training(estimator, mechanism, delta)
    yield from (in_sample_estimate(LOOKED_AT), *BEST_CUTS)


def _usual(what: str, mechanism: KnownMechanism) -> bool:
    """Return whether a method is used by default on this mechanism."""
    return what not in BY_DEFAULT or mechanism.name in BY_DEFAULT[what]


def _deciding(mechanism: KnownMechanism, delta: float, full: bool) -> Iterator[Method]:
    """Yield what decides a run with a claim that holds: at once, and while pairs come in."""
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
    """Return the attacks that fit what a simulated run shows."""
    names = registry.names("attacks")
    return [name for name in names if not lacking(registry.make("attacks", name), SHOWN)]


def _one_training(estimator: str, mechanism: KnownMechanism, delta: float) -> Iterator[Method]:
    if outcome_kind(estimator) is Guesses:
        curve = mechanism.curves[0] if mechanism.curves else None
        # A mechanism that leaks nothing keeps a claim of 1, too.
        claim = Claim(mechanism.epsilon(delta) or 1.0, delta, curve=curve)
        # Of several curves the mechanism's own: whatever assumes nothing is `one-run` itself.
        yield OneTraining(estimator, _curves(estimator, mechanism, delta)[0], claim)


def _selected(
    attack: str, estimator: str, mechanism: KnownMechanism, delta: float
) -> Iterator[Selected]:
    """Yield the method by each curve that holds; none for an estimator of guesses."""
    if outcome_kind(estimator) is not Guesses:
        for curve in _curves(estimator, mechanism, delta):
            yield Selected(attack, estimator, curve)


def _curves(estimator: str, mechanism: KnownMechanism, delta: float) -> list[Family | str | None]:
    """Return the curves that a panel would give an estimator; empty if it cannot judge."""
    wanted = registry.parameters(registry.load("estimators", estimator)).get("curve")
    if wanted is None:
        assumption = assumption_of(estimator)
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
    """Return the curve's family; of an accountant's a table, because each takes long."""
    curves = family(curve, delta)
    if outcome_kind(estimator) is Guesses:
        curves = symmetric(curves)
    if not isinstance(curves, DPSGDFamily):
        return curves
    return Tabulated.beyond(curves, mechanism.epsilon(delta), delta, SIZE, REACH)
