"""The numbers of a report in words that need no paper: for the terminal, and for any page."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpaudit.report.formats import at_least, nearest, percent, power, value
from dpaudit.types import Bound, Claim, GaussianCurve, Report

VERDICTS = {
    "VIOLATION": "VIOLATION",
    "NO_VIOLATION_FOUND": "NO VIOLATION FOUND",
    "INCONCLUSIVE": "INCONCLUSIVE",
}

GAME = (
    "Models were trained with and without one planted record, the canary. Attacks then guess from "
    "a model whether it had the canary: the better they guess, the more a model gives away about "
    "one record. Epsilon measures this leak: 0 is none, more is worse."
)

ASSUMPTIONS = {
    "none": "assumes nothing about the mechanism",
    "gaussian": "assumes a Gaussian trade-off curve",
    "accountant": "assumes the accountant's curve",
    "prior": "assumes a prior: credible, not certified",
}


def digits_needed(report: Report) -> int:
    """Decimals, at least two, at which bound and ceiling print on their own side of the claim."""
    claimed, bound = report.claim.epsilon, report.bounds[report.primary]
    for digits in range(2, 9):
        claim = float(nearest(claimed, digits))
        above = float(at_least(bound.epsilon, digits)) > claim
        below = float(nearest(bound.ceiling, digits)) < claim
        shown = claim > 0 or claimed == 0
        if shown and (above, below) == (bound.epsilon > claimed, bound.ceiling < claimed):
            return digits
    return 9


def question(report: Report, digits: int) -> str:
    """What the audit asks."""
    return f"is the leak within the claimed epsilon of {nearest(report.claim.epsilon, digits)}?"


def claim_lines(claim: Claim, digits: int) -> list[str]:
    """What is promised, and by whom."""
    difference = "adding or removing" if claim.adjacency == "add-remove" else "replacing"
    lines = [
        f"epsilon {nearest(claim.epsilon, digits)}, delta {power(claim.delta)}, for: {claim.unit}",
        f"It limits how much {difference} one record may change what is released, "
        "up to a slack of delta.",
        f"Source: {claim.source}",
    ]
    if isinstance(claim.curve, GaussianCurve):
        lines.append(f"Curve: Gaussian, mu {value(claim.curve.mu)}")
    elif claim.curve is not None:
        lines.append(
            f"Curve: DP-SGD, sample rate {value(claim.curve.sample_rate)}, "
            f"{value(claim.curve.steps)} steps, "
            f"noise multiplier {value(claim.curve.noise_multiplier)}"
        )
    if claim.beside:
        others = ", ".join(f"{name} {nearest(e)}" for name, e in claim.beside.items())
        lines.append(f"Other accountants, for comparison: {others}")
    return lines


def models_lines(models: Mapping[str, int]) -> list[str]:
    """How many models there are, and what they were used for."""
    total = models["in"] + models["out"]
    lines = [
        f"{total:,} trained: {models['in']:,} with the canary, {models['out']:,} without it",
    ]
    if models["choosing"]:
        lines.append(
            f"{models['choosing']:,} to choose each attack's rule, "
            f"{models['judging']:,} others to judge it"
        )
    else:
        lines.append(f"{models['judging']:,} to judge the attacks; no rule had to be chosen")
    return lines


def utility_line(utility: Mapping[str, float]) -> str:
    """How good the models are."""
    shown = (
        key.replace("_", " ") + " " + (percent(round(x, 3)) if "accuracy" in key else value(x))
        for key, x in utility.items()
        if math.isfinite(x)
    )
    return ", ".join(shown)


def defence_line(defence: str) -> str:
    """What stood between the models and the attacks, if anything did."""
    if defence == "none":
        return ""
    return f"the outputs were defended by {defence} before the attacks saw them"


def deciding_lines(report: Report) -> list[str]:
    """Which row of the table decides, why it may, and what the others are for."""
    lines = [f"> decides: {decision_line(report.bounds[report.primary])}."]
    if len(report.bounds) > 1:
        lines.append("The other rows are for comparison and never decide.")
    return lines


def decision_line(bound: Bound) -> str:
    """How the deciding attack decides, how often it erred, and why its bound may be believed."""
    parts = [f"rule {bound.rule}"] if bound.rule else []
    if bound.counts is not None:
        c = bound.counts
        parts.append(
            f"wrong on {c.fp:,} of {c.out:,} models without the canary "
            f"and on {c.fn:,} of {c.inn:,} with it"
        )
    parts.append(f"selection: {bound.selection}")
    parts.append(f"{bound.estimator}, which {ASSUMPTIONS[bound.assumption]}")
    return "; ".join(parts)


def standing_out(report: Report) -> str:
    """Which published estimates exceed what the same search finds where there is no leak."""
    comparable = [p for p in report.published if p.permutations > 0 and not math.isnan(p.null_q95)]
    if not comparable:
        return ""
    above = [p.attack for p in comparable if p.epsilon_in_sample > p.null_q95]
    if not above:
        return "No attack's published estimate stands out from the same search with no leak."
    return (
        f"Published estimates that stand out from the same search with no leak: "
        f"{', '.join(above)} ({len(above)} of {len(comparable)}; with no leak each would do so "
        f"by chance in at most about 1 of 20 audits)."
    )


def verdict_sentence(report: Report, digits: int) -> str:
    """What the verdict rests on, with its numbers, and what it does not say."""
    bound = report.bounds[report.primary]
    claimed, ceiling = nearest(report.claim.epsilon, digits), nearest(bound.ceiling, digits)
    found = certified(bound, digits)
    models = f"{judging(report):,} judging models"
    if report.verdict == "VIOLATION":
        return (
            f"{found}, above the claim of {claimed}. The claim does not hold for what was run "
            f"here. ({models} could certify at most {ceiling}.)"
        )
    if bound.epsilon > report.claim.epsilon:
        return (
            f"{found}, above the claim of {claimed}; but this {ASSUMPTIONS[bound.assumption]}, "
            f"which the claim does not promise, so it cannot decide (ceiling {ceiling})."
        )
    if report.verdict == "NO_VIOLATION_FOUND":
        return (
            f"{found}, which does not refute the claim of {claimed}; {models} could have certified "
            f"up to {ceiling}. This is not a proof of privacy: a stronger attack or another canary "
            f"may find more."
        )
    if bound.ceiling < report.claim.epsilon:
        return (
            f"with {models} no attack could certify more than {ceiling} (by {bound.estimator}), "
            f"below the claim of {claimed}. This audit can neither refute nor support the claim; "
            f"{found}."
        )
    return f"{found}, which does not settle the claim of {claimed} (ceiling {ceiling})."


def looks_line(report: Report) -> str:
    """That this is not the first judgement, if it is not, and what that costs."""
    if report.looks <= 1:
        return ""
    return (
        f"This is look {report.looks} at the same models, so the deciding bound is held to "
        f"{percent(report.bounds[report.primary].confidence)} confidence."
    )


def certified(bound: Bound, digits: int) -> str:
    """How much leaks at least; a bound of 0 is said to be no finding."""
    found, sure = at_least(bound.epsilon, digits), percent(bound.confidence)
    if float(found) == 0:
        return f"no leak is certified (epsilon at least {found}, {sure} confidence)"
    assuming = "" if bound.assumption == "none" else f" ({ASSUMPTIONS[bound.assumption]})"
    return f"with {sure} confidence the leak is at least epsilon {found}{assuming}"


def judging(report: Report) -> int:
    """How many models the primary bound was computed on."""
    counts = report.bounds[report.primary].counts
    return report.models["judging"] if counts is None else counts.out + counts.inn


def legend(report: Report) -> list[tuple[str, str]]:
    """The table's columns in plain words."""
    lines = []
    if report.published:
        chunks = max(p.chunks for p in report.published)
        spread = (
            f" Mean ± spread over {chunks:,} groups of models, all with the same canary."
            if chunks > 1
            else ""
        )
        lines += [
            (
                "Published estimate",
                "the rule is tuned on the very models it is scored on, so this tends to be above "
                "0 even with no leak. Compare it with the next column; alone it proves nothing. "
                "A direction of the formula in which no model errs is skipped; without any error "
                f"it is infinite.{spread}",
            ),
            (
                "Same search, no leak",
                "the same tuning after shuffling which models had the canary, so that there is "
                "nothing to find: its mean, and in brackets what 95 % of shuffles stay below.",
            ),
        ]
    levels = sorted({bound.confidence for bound in report.bounds})
    sure = " or ".join(percent(level) for level in levels)
    single = len({bound.estimator for bound in report.bounds}) == 1
    how = f", by {report.bounds[0].estimator}" if single else ""
    fixed = (
        "the rule was fixed on other models than those that judge it"
        if report.models["choosing"]
        else "no rule was tuned on the models that judge it"
    )
    lines += [
        (
            "Certified epsilon",
            f"a leak of at least this much is shown with {sure} confidence{how}; {fixed}. "
            "0.00 means that nothing could be shown, not that nothing leaks.",
        ),
        ("Ceiling", "the most that so many models could certify if the attack never erred."),
    ]
    return lines
