"""What a claim promises of its curve, and the bounds that may therefore be held against it."""

from __future__ import annotations

from dpaudit.curves import Family, family
from dpaudit.errors import BadInput
from dpaudit.protocols import Estimator
from dpaudit.types import Assumption, Bound, Claim, DPSGDCurve, GaussianCurve

CURVES = {"gaussian": "a Gaussian trade-off curve", "accountant": "an accountant's curve"}
"""The assumptions that are about a curve, in words."""


def promises(claim: Claim, assumption: Assumption) -> bool:
    """Whether a claim implies what a bound assumes, so that the bound can refute it.

    A bare (epsilon, delta) never promised a curve; DP-SGD with full batches is Gaussian. A
    prior is promised by nobody.
    """
    if assumption not in CURVES:
        return assumption == "none"
    curves = _family(claim)
    return curves is not None and curves.assumption == assumption


def refuse_other_curve(given: Bound | Estimator, claim: Claim) -> None:
    """Refuse a bound, or an estimator, that assumes a curve which the claim does not have.

    Such a number would say nothing of the claim, however large. An estimator that is made for
    a curve must be made for the claim's: for DP-SGD its sampling rate, steps and adjacency. Of
    one that does not tell what it assumes only the bounds can be asked.
    """
    assumption: Assumption = getattr(given, "assumption", "none")
    if assumption not in CURVES:
        return
    curve = getattr(given, "curve", None)
    if promises(claim, assumption):
        adjacency = getattr(given, "adjacency", claim.adjacency)
        if curve is None or family(curve, claim.delta, adjacency) == _family(claim):
            return
    who = given.estimator if isinstance(given, Bound) else type(given).__name__
    raise BadInput(
        f"{who} assumes {CURVES[assumption]}, and the claim has {_told(claim)}: a bound under "
        "another curve says nothing of it; choose an estimator that assumes nothing, such as "
        "clopper-pearson"
    )


def _family(claim: Claim) -> Family | None:
    if claim.curve is None:
        return None
    return family(claim.curve, claim.delta, claim.adjacency)


def _told(claim: Claim) -> str:
    if isinstance(claim.curve, GaussianCurve):
        return "a Gaussian curve"
    if isinstance(claim.curve, DPSGDCurve):
        c = claim.curve
        return (
            f"the curve of DP-SGD at sample rate {c.sample_rate:g} over {c.steps} steps "
            f"({claim.adjacency})"
        )
    return "no curve"
