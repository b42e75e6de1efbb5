"""The verdict on a run: its sentence and its three numbers."""

from __future__ import annotations

import math

from dpaudit.report.document import Bar, Block
from dpaudit.report.formats import at_least, nearest, percent
from dpaudit.report.run_attacks import models_of
from dpaudit.report.wording import (
    VERDICTS,
    assumes,
    beyond,
    certified,
    claimed_epsilon,
    conclusion,
    digits_needed,
    unit,
)
from dpaudit.results import Bound, Report


def verdict(report: Report, digits: int) -> list[Block]:
    """Build the verdict and its numbers: what is claimed, certified, and could be certified."""
    bound = report.bounds[report.primary]
    reach = "no limit" if math.isinf(report.reach) else nearest(report.reach, digits)
    sure, shown = percent(bound.confidence), at_least(bound.epsilon, digits)
    marks = (
        ("claimed leak, at most", claimed_epsilon(report.claim, digits), report.claim.epsilon),
        (f"certified leak, at least ({sure} sure)", shown, bound.epsilon),
        ("ceiling: most that could be certified", reach, report.reach),
    )
    return [conclusion(report.verdict, sentence(report, digits), [looks(report)]), Bar(marks)]


def sentence(report: Report, digits: int) -> str:
    """Say what the verdict rests on, with its numbers, and what it does not say."""
    bound = report.bounds[report.primary]
    claimed, ceiling = nearest(report.claim.epsilon, digits), nearest(report.reach, digits)
    shown = certified(bound, report.claim, digits)
    models = f"{_judging(report):,} {'' if report.guesses else 'judging '}{unit(report)}"
    if report.verdict == "NO_GUARANTEE_CLAIMED":
        could = report.untested or f"{models} could have certified up to {ceiling}"
        return (
            f"{shown}. Nothing was promised for {report.claim.unit}, so that nothing is refuted; "
            f"{could}."
        )
    if report.verdict == "VIOLATION":
        return (
            f"{shown}, above the claim of {claimed}. The claim does not hold for what was run "
            f"here. ({models} could certify at most {ceiling}.)"
        )
    if bound.epsilon > report.claim.epsilon:
        return (
            f"{shown}, above the claim of {claimed}; but this {assumes(bound, report.claim)}, "
            f"which the claim does not promise, so it cannot decide (ceiling {ceiling})."
        )
    if report.verdict == "NO_VIOLATION_FOUND":
        return not_refuted(shown, claimed, models, ceiling, beyond(report))
    if report.untested:
        return (
            f"{report.untested}. This audit had nothing to find, so that it can neither refute nor "
            f"support the claim of {claimed}."
        )
    if report.growth is not None and not _judging(report):
        return (
            f"it stopped while its {report.models['choosing']:,} {unit(report)} only fitted rules, "
            f"before any was judged: it can neither refute nor support the claim of {claimed}."
        )
    if report.reach < report.claim.epsilon:
        return out_of_reach(bound, ceiling, claimed, models, shown)
    return f"{shown}, which does not settle the claim of {claimed} (ceiling {ceiling})."


def not_refuted(shown: str, claimed: str, trials: str, ceiling: str, beyond: str) -> str:
    """Say that a claim that could have been refuted was not."""
    return (
        f"{shown}, which does not refute the claim of {claimed}; {trials} could have certified up "
        f"to {ceiling}. This is not a proof of privacy: {beyond}."
    )


def out_of_reach(bound: Bound, ceiling: str, claimed: str, trials: str, shown: str) -> str:
    """Say that so few trials could not have refuted the claim."""
    return (
        f"{trials} could not have certified more than {ceiling} (by {bound.estimator}, "
        f"{percent(bound.confidence)} confidence), below the claim of {claimed}. This audit can "
        f"neither refute nor support the claim; {shown}."
    )


def looks(report: Report) -> str:
    """Say that this is not the first judgement, if it is not, and what that costs."""
    if report.looks <= 1:
        return ""
    sure = report.bounds[report.primary].confidence
    error = (1 - sure) * 2**report.looks * max(1, len(report.deciders))
    return (
        f"This is look {report.looks} at the same models, so the deciding bound is held to "
        f"{percent(sure)} confidence; all looks together err in at most "
        f"{percent(round(1.5 * error, 9))} of audits. That does not allow for an attack which was "
        "chosen for what an earlier report showed of it."
    )


def _judging(report: Report) -> int:
    """Return the number of models, or guesses, that the primary bound was computed on."""
    if report.guesses is not None:
        return report.guesses.guesses
    return models_of(report.bounds[report.primary]) or report.models["judging"]


def in_one_line(report: Report) -> str:
    """Return the verdict, and the sentence that it rests on."""
    return f"{VERDICTS[report.verdict]}: {sentence(report, digits_needed(report))}"
