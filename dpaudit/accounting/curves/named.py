"""Families by name, by a claim's curve, and by the text that a command line takes."""

from __future__ import annotations

from dpaudit import checks
from dpaudit.accounting import MOST_USES
from dpaudit.accounting.curves.dpsgd import DPSGD, DPSGDSteps
from dpaudit.accounting.curves.families import Family, Gaussian, Pure
from dpaudit.errors import BadInput
from dpaudit.types import Adjacency, Curve, DPSGDCurve, GaussianCurve, StepsCurve


def family(
    curve: str | Curve | Family, delta: float, adjacency: Adjacency = "add-remove"
) -> Family:
    """The family that a name (gaussian, pure) or a claim's curve belongs to."""
    if isinstance(curve, StepsCurve):
        return DPSGDSteps(curve.sample_rate, curve.steps, adjacency)
    if isinstance(curve, DPSGDCurve) and curve.sample_rate < 1:
        return DPSGD(curve.sample_rate, curve.steps, adjacency)
    if isinstance(curve, (GaussianCurve, DPSGDCurve)):
        return Gaussian()
    if isinstance(curve, Family):
        return curve
    checks.refuse([checks.one_of("curve", curve, ("gaussian", "pure"))])
    return Gaussian() if curve == "gaussian" else Pure(delta)


STATED = "gaussian, none or dpsgd:Q,T, such as dpsgd:0.01,1000"

LEAST_RATE, MOST_STEPS = 1e-4, 10**6
"""Beyond these the accountant's grid takes minutes and gigabytes."""


def within_reach(curve: Curve) -> bool:
    """Whether a claim's curve can be computed within seconds."""
    if not isinstance(curve, (DPSGDCurve, StepsCurve)) or curve.sample_rate == 1:
        return True
    q, rounds = curve.sample_rate, curve.steps
    return q >= LEAST_RATE and rounds <= MOST_STEPS and q * rounds <= MOST_USES


def stated(curve: str) -> Family | None:
    """The family that a text names, Gaussian where it is empty; None of 'none'."""
    if curve in ("", "gaussian"):
        return Gaussian()
    if curve == "none":
        return None
    kind, _, numbers = curve.partition(":")
    try:
        rate, steps = numbers.split(",")
        q, rounds = float(rate), int(steps)
    except ValueError:
        kind = ""
    if kind != "dpsgd":
        raise BadInput(
            f"the curve must be {STATED}, not '{curve}'",
            "unknown-choice",
            option="curve",
            value=curve,
        )
    made = DPSGD(q, rounds)
    if q == 1:
        return Gaussian()  # steps that all see every record make one Gaussian mechanism
    if not within_reach(DPSGDCurve(q, rounds, 1.0)):
        raise BadInput(
            f"the curve of DP-SGD is computed for a sample rate of at least {LEAST_RATE:g}, at "
            f"most {MOST_STEPS:,} steps and {MOST_USES:,} expected uses of a record, not "
            f"'{curve}'; without it, --curve none",
            "too-costly",
            option="curve",
            value=curve,
        )
    return made
