"""Refuses a report whose numbers contradict its words, before anyone reads it."""

from __future__ import annotations

import math

from dpaudit.errors import BadInput
from dpaudit.results import Bound, Published, Report


def check(report: Report) -> None:
    """Raise BadInput unless every number is one that may be printed and the verdict fits them."""
    if not 0 <= report.primary < len(report.bounds):
        raise BadInput(
            f"primary is {report.primary}, but the report has {len(report.bounds)} bounds",
            "out-of-range",
            option="primary",
            value=report.primary,
        )
    if not report.claim.epsilon >= 0:
        said = f"the claim's epsilon is {report.claim.epsilon}, not a number >= 0"
        raise BadInput(said, "out-of-range", option="claim.epsilon", value=report.claim.epsilon)
    if not 0 <= report.claim.delta < 1:
        said = f"the claim's delta is {report.claim.delta}, not in [0, 1)"
        raise BadInput(said, "out-of-range", option="claim.delta", value=report.claim.delta)
    if not all(0 <= i < len(report.bounds) for i in report.deciders):
        said = f"{report.deciders} are to decide of {len(report.bounds)} bounds"
        raise BadInput(said, "out-of-range", option="deciders", value=report.deciders)
    for bound in report.bounds:
        check_bound(bound)
    for published in report.published:
        check_published(published)
    _check_steps(report)
    _check_verdict(report)


def check_bound(bound: Bound) -> None:
    """Raise BadInput unless it is a bound, and one that so many trials can give."""
    of = f"the bound of attack {bound.attack!r} by {bound.estimator}"
    if not (bound.epsilon >= 0 and math.isfinite(bound.epsilon)):
        said = f"{of} is {bound.epsilon}, not a finite number >= 0"
        raise BadInput(said, "not-finite", option="bound.epsilon", value=bound.epsilon)
    if not bound.ceiling >= bound.epsilon * (1 - 1e-6):  # two ways to compute one number
        said = f"{of} is {bound.epsilon}, above its ceiling {bound.ceiling}"
        raise BadInput(said, "above-ceiling", option="bound.epsilon", value=bound.epsilon)
    if not 0 <= bound.delta < 1:
        said = f"{of} has delta {bound.delta}, not in [0, 1)"
        raise BadInput(said, "out-of-range", option="bound.delta", value=bound.delta)
    # A point estimate has no confidence, and is no bound (STATISTICS.md, law 1).
    if not 0 < bound.confidence < 1:
        said = f"{of} has confidence {bound.confidence}, not in (0, 1): it is no bound"
        raise BadInput(said, "out-of-range", option="bound.confidence", value=bound.confidence)


def check_published(published: Published) -> None:
    """Raise BadInput unless the estimate is a number."""
    if not published.epsilon_in_sample >= 0:
        raise BadInput(
            f"the published estimate of attack {published.attack!r} is "
            f"{published.epsilon_in_sample}, not a number >= 0",
            "out-of-range",
            option="published.epsilon_in_sample",
            value=published.epsilon_in_sample,
        )


def _check_steps(report: Report) -> None:
    """A number on the leak of single steps has no place beside a claim about all of them."""
    if not report.claim.by_step:
        return
    for bound in report.bounds:
        if bound.assumption != "accountant":
            raise BadInput(
                f"the bound of attack {bound.attack!r} by {bound.estimator} is on the leak of a "
                "single step, and the claim is about the training that they make up",
                "single-steps",
                option="bounds",
            )
    if report.published:
        raise BadInput(
            "published estimates are of single steps, and the claim is about all",
            "single-steps",
            option="published",
        )


def _check_verdict(report: Report) -> None:
    """The verdict follows from the primary bound; only an assumption may hold a refutation back."""
    bound, claimed = report.bounds[report.primary], report.claim.epsilon
    refuted = bound.epsilon > claimed
    decides = bound.assumption == "none"
    if not report.claim.guarantees:
        fits = report.verdict == "NO_GUARANTEE_CLAIMED"
    elif report.verdict == "VIOLATION":
        fits = refuted
    elif report.verdict == "NO_VIOLATION_FOUND":
        could = report.reach >= claimed and not report.untested
        fits = could and not (refuted and decides)
    else:
        fits = report.verdict == "INCONCLUSIVE" and not (refuted and decides)
    if not fits:
        raise BadInput(
            f"the verdict {report.verdict} contradicts its numbers: claim {claimed}, "
            f"bound {bound.epsilon}, ceiling {report.reach}",
            "contradiction",
            option="verdict",
            value=report.verdict,
        )
