"""The curve that a claim states, and which bounds may refute the claim."""

from __future__ import annotations

from dpaudit.accounting.curves import Family, family, within_reach
from dpaudit.errors import BadInput
from dpaudit.protocols import Estimator
from dpaudit.results import Assumption
from dpaudit.types import Claim, Curve, GaussianCurve, StepsCurve

CURVES = {"gaussian": "a Gaussian trade-off curve", "accountant": "an accountant's curve"}
"""The assumptions that are about a curve, in words."""


def promises(claim: Claim, assumption: Assumption) -> bool:
    """Return whether a claim implies what a bound assumes, so that the bound can refute it.

    A bare (epsilon, delta) promises no curve; DP-SGD with full batches is Gaussian. No claim
    promises a prior, or the leak of single steps: if steps are scored, only a bound that composes
    them as claimed can refute the claim.
    """
    if assumption not in CURVES:
        return assumption == "none" and not claim.by_step
    curves = _family(claim)
    return curves is not None and curves.assumption == assumption


def known_curve(claim: Claim) -> Curve | None:
    """Return the claim's curve, or None if it states none that can be computed.

    Most claims can be judged without it, by what assumes nothing; of single steps it is required.
    """
    if claim.curve is None or within_reach(claim.curve):
        return claim.curve
    if isinstance(claim.curve, StepsCurve):
        raise BadInput(
            f"single steps were scored, and what {claim.curve.steps:,} of them at a sample rate of "
            f"{claim.curve.sample_rate:g} leak together takes minutes and gigabytes to compute; "
            "score whole trainings instead",
            "too-costly",
            option="steps",
            value=claim.curve.steps,
        )
    return None


def refuse_other_curve(estimator: Estimator, claim: Claim) -> None:
    """Reject an estimator that assumes a curve which the claim does not have.

    Its bound, however large, could not refute the claim. An estimator that is made for a curve
    must be made for the claim's: for DP-SGD its sampling rate, steps and adjacency. If single
    steps are scored, every estimator that does not compose them is rejected.
    """
    assumption, who = estimator.assumption, type(estimator).__name__
    if claim.by_step and not promises(claim, assumption):
        raise BadInput(
            f"{who} bounds the leak of what was scored, which is single steps, and the claim is "
            "about the training that they make up; choose an estimator that composes them as "
            "claimed, such as paired-auc",
            "scored-steps",
            option="estimator",
            value=who,
        )
    if assumption not in CURVES:
        return
    assumed = estimator.assumed_curve
    if promises(claim, assumption) and (
        assumed is None or family(assumed[0], claim.delta, assumed[1]) == _family(claim)
    ):
        return
    raise BadInput(
        f"{who} assumes {CURVES[assumption]}, and the claim has {_in_words(claim)}: a bound under "
        "another curve does not hold for it; choose an estimator that assumes nothing, such as "
        "clopper-pearson",
        "other-curve",
        option="estimator",
        value=who,
    )


def _family(claim: Claim) -> Family | None:
    if claim.curve is None:
        return None
    return family(claim.curve, claim.delta, claim.adjacency)


def _in_words(claim: Claim) -> str:
    if isinstance(claim.curve, GaussianCurve):
        return "a Gaussian curve"
    if claim.curve is None:
        return "no curve"
    c, scored = claim.curve, ", scored one by one" if claim.by_step else ""
    return (
        f"the curve of DP-SGD at sample rate {c.sample_rate:g} over {c.steps} steps{scored} "
        f"({claim.adjacency})"
    )
