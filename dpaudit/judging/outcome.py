"""The outcome of a judgement: how strong the test was, and whether all its numbers agree.

A report whose numbers contradict each other is refused before anyone reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from dpaudit.errors import BadInput
from dpaudit.estimators.claim_curves import promises
from dpaudit.results import Bound, Published, Report, Strength, Verdict
from dpaudit.types import Claim


def strength(claim: Claim, verdict: Verdict, bound: Bound | None, canary_is_null: bool) -> Strength:
    """Return the strength of a judgement; `bound` is the one that decides, if there is one.

    A claim that was not refuted withstood a strong test if at least half of it is certified: the
    same models refute a claim of half as much. A null run plants nothing: it fails if anything is
    certified, and else passes, unless this number of trials can certify nothing.
    """
    if canary_is_null and bound is not None and bound.ceiling > 0:
        return "null-failed" if bound.epsilon > 0 else "null-passed"
    if verdict == "NO_GUARANTEE_CLAIMED":
        return "not-claimed"
    if verdict == "VIOLATION":
        return "refuted"
    if verdict == "INCONCLUSIVE" or bound is None or not promises(claim, bound.assumption):
        return "weak"
    return "strong" if 0 < claim.epsilon / 2 <= bound.epsilon else "weak"


def check(report: Report) -> None:
    """Raise BadInput unless all numbers may be printed and the verdict fits them."""
    claim, size = report.claim, len(report.bounds)
    _require(0 <= report.primary < size, "primary", report.primary, f"below {size}, its bounds")
    _require(claim.epsilon >= 0, "claim.epsilon", claim.epsilon, "a number >= 0")
    _require(0 <= claim.delta < 1, "claim.delta", claim.delta, "in [0, 1)")
    inside = all(0 <= i < size for i in report.deciders)
    _require(inside, "deciders", report.deciders, f"below {size}, its bounds")
    check_numbers(report.bounds, report.published)
    if report.claim.by_step:
        _check_steps(report)
    _check_verdict(report)
    check_strength(report)


def check_strength(report: Report) -> None:
    """Raise BadInput unless the strength follows from the verdict and the bound that decides."""
    bound = report.bounds[report.primary] if report.bounds else None
    null = report.canary.get("name") == "none"
    if report.strength != strength(report.claim, report.verdict, bound, null):
        shown = "no bound" if bound is None else f"bound {bound.epsilon}"
        numbers = f"{report.verdict}, claim {report.claim.epsilon}, {shown}"
        _contradict("strength", report.strength, numbers)


def check_numbers(bounds: Iterable[Bound], published: Iterable[Published] = ()) -> None:
    """Raise BadInput unless each bound is one that its trials can give, and estimates are numbers.

    A point estimate has no confidence, and is no bound.
    """
    for bound in bounds:
        of = f"of attack {bound.attack!r} by {bound.estimator}"
        finite = bound.epsilon >= 0 and math.isfinite(bound.epsilon)
        _require(finite, "bound.epsilon", bound.epsilon, f"finite and >= 0, {of}", "not-finite")
        # Bound and ceiling are computed in different ways, and may differ by rounding.
        reachable = bound.ceiling >= bound.epsilon * (1 - 1e-6)
        most = f"at most its ceiling {bound.ceiling}, {of}"
        _require(reachable, "bound.epsilon", bound.epsilon, most, "above-ceiling")
        _require(0 <= bound.delta < 1, "bound.delta", bound.delta, f"in [0, 1), {of}")
        sure = bound.confidence
        _require(0 < sure < 1, "bound.confidence", sure, f"in (0, 1), {of}")
    for p in published:
        number = p.epsilon_in_sample
        wanted = f"a number >= 0, of attack {p.attack!r}"
        _require(number >= 0, "published.epsilon_in_sample", number, wanted)


def _require(fits: bool, option: str, value: Any, wanted: str, code: str = "out-of-range") -> None:
    if not fits:
        raise BadInput(f"{option} must be {wanted}, not {value}", code, option=option, value=value)


def _check_steps(report: Report) -> None:
    """Refuse numbers on the leak of single steps beside a claim about all of them."""
    option, numbers = "published", "in-sample estimates are" if report.published else ""
    for bound in report.bounds:
        if bound.assumption != "accountant":
            option, numbers = (
                "bounds",
                f"the bound of attack {bound.attack!r} by {bound.estimator} is",
            )
    if numbers:
        sentence = f"{numbers} of single steps, and the claim is about the whole training"
        raise BadInput(sentence, "single-steps", option=option)


def _check_verdict(report: Report) -> None:
    """Refuse a verdict that does not follow from the primary bound.

    Only a bound with an assumption may exceed the claim without refuting it.
    """
    bound, claimed = report.bounds[report.primary], report.claim.epsilon
    refuted = bound.epsilon > claimed
    holds = not refuted or bound.assumption != "none"
    could = report.reach >= claimed and not report.untested
    fits = {"VIOLATION": refuted, "NO_VIOLATION_FOUND": holds and could, "INCONCLUSIVE": holds}
    if not report.claim.guarantees:
        fits = {"NO_GUARANTEE_CLAIMED": True}
    if not fits.get(report.verdict):
        numbers = f"claim {claimed}, bound {bound.epsilon}, ceiling {report.reach}"
        _contradict("verdict", report.verdict, numbers)


def _contradict(option: str, value: str, numbers: str) -> NoReturn:
    sentence = f"the {option} {value} contradicts its numbers: {numbers}"
    raise BadInput(sentence, "contradiction", option=option, value=value)
