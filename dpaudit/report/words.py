"""The numbers of a report in words that need no paper: for the terminal, and for any page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dpaudit.report import by_step, local, one_run, releases
from dpaudit.report.attacker import beyond
from dpaudit.report.formats import at_least, nearest, percent, value
from dpaudit.report.one_run import unit
from dpaudit.report.worlds import is_null, worlds
from dpaudit.results import Bound, Growth, Report
from dpaudit.types import Claim

VERDICTS = {
    "VIOLATION": "VIOLATION",
    "NO_VIOLATION_FOUND": "NO VIOLATION FOUND",
    "INCONCLUSIVE": "INCONCLUSIVE",
    "NO_GUARANTEE_CLAIMED": "NO GUARANTEE CLAIMED",
}

NOTHING = "—"
"""Stands where a table has no number."""

SLOTS = {"accountant": "by curve", "gaussian": "by curve", "none": "outright", "prior": "by prior"}
"""What a bound stands on, in two words, by its assumption; in the order of columns."""

ASSUMPTIONS = {
    "none": "assumes nothing about the mechanism",
    "gaussian": "assumes a Gaussian trade-off curve",
    "accountant": "assumes the accountant's curve",
    "prior": "assumes a prior: credible, not certified",
}


def assumes(bound: Bound, claim: Claim) -> str:
    """What a bound assumes."""
    return by_step.ASSUMES if claim.by_step else ASSUMPTIONS[bound.assumption]


def digits_needed(report: Report) -> int:
    """Decimals, at least two, at which bound and ceiling print on their own side of the claim."""
    claimed, epsilon = report.claim.epsilon, report.bounds[report.primary].epsilon
    reach = report.reach
    for digits in range(2, 9):
        claim = float(nearest(claimed, digits))
        above = float(at_least(epsilon, digits)) > claim
        below = float(nearest(reach, digits)) < claim
        shown = claim > 0 or claimed == 0
        if shown and (above, below) == (epsilon > claimed, reach < claimed):
            return digits
    return 9


def models_lines(
    models: Mapping[str, int],
    canary: Mapping[str, Any],
    whole: bool = False,
    made: str = "trained",
    halved: bool = True,
) -> list[str]:
    """How many models there are, and what they were used for.

    `whole`: some bounds had all of them; `halved`: and some did not.
    """
    total, named = models["in"] + models["out"], worlds(canary)
    lines = [f"{total:,} {made}: {models['in']:,} {named.inn}, {models['out']:,} {named.then_out}"]
    if not halved:
        lines.append(f"all {total:,} judge a score that was fixed beforehand")
    elif models["choosing"]:
        lines.append(
            f"{models['choosing']:,} to choose each attack's rule, "
            f"{models['judging']:,} others to judge it"
            + ("; all judge a score that leaves nothing to choose" if whole else "")
        )
    else:
        lines.append(f"{models['judging']:,} to judge the attacks; no rule had to be chosen")
    return lines


def stopped_lines(report: Report, growth: Growth) -> list[str]:
    """How many models there are of a run that was to stop when decided, and why it did."""
    done = made(report.claim)
    trained, *_ = models_lines(report.models, report.canary, made=done)
    number, units = report.models["in"] + report.models["out"], unit(report)
    if report.verdict == "VIOLATION":
        why = f"after {number:,} {units}, because the claim was refuted"
    elif number == growth.most:
        why = f"after all {number:,} {units}; the claim was not refuted"
    else:
        why = f"after {number:,} {units}, before the claim was refuted or all were {done}"
    return [
        trained,
        f"It was to stop once decided, after at most {growth.most:,} {units}, and stopped {why}",
        f"The evidence has come to {max(growth.wealth):.3g} of the {growth.needed:.3g} that "
        f"refute; each pair of {units} was judged by rules that were fitted on earlier pairs, the "
        f"first {report.models['choosing']} {units} by none",
    ]


def made(claim: Claim) -> str:
    """What was done to have a trial."""
    if local.reported(claim):
        return "given"
    if releases.released(claim):
        return "made"
    return "scored" if claim.by_step else "trained"


def utility_line(report: Report) -> str:
    """How good the models are, also in each world where these differ."""
    utility = report.utility
    if is_null(report.canary):
        utility = {key: x for key, x in utility.items() if not key.endswith(("_in", "_out"))}
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
    bound = report.bounds[report.primary]
    lines = [f"> decides: {bound.attack}: {decision_line(bound, report)}."]
    lines += [sentence for sentence in (bound.sentence, report.why) if sentence]
    if report.deciders:
        each = percent(bound.confidence)
        lines.append(
            f"All {len(report.deciders)} attacks were to decide, each at {each} confidence; this "
            "one shows most. What stands beside their bounds never decides."
        )
    elif len(report.bounds) > 1:
        lines.append("All other bounds are for comparison and never decide.")
    if report.claim.by_step:
        lines.append(by_step.ALONE)
    return lines + list(_beside(report))


def _beside(report: Report) -> Iterator[str]:
    """What an attack shows by a further estimator that stands on the same as one before it."""
    deciding = {report.primary, *report.deciders}
    shown = {(b.attack, b.assumption) for b in (report.bounds[i] for i in deciding)}
    for i, bound in enumerate(report.bounds):
        place = bound.attack, bound.assumption
        if i not in deciding and place in shown:
            yield (
                f"Beside it, {bound.attack} by {bound.estimator}: at least "
                f"{at_least(bound.epsilon)}, ceiling {nearest(bound.ceiling)}; "
                f"{decision_line(bound, report)}."
            )
        shown.add(place)


def decision_line(bound: Bound, report: Report) -> str:
    """How the deciding attack decides, how often it erred, and why its bound may be believed."""
    parts = [f"rule {bound.rule}"] if bound.rule else []
    named = worlds(report.canary)
    if report.guesses is not None:
        parts.append(one_run.right(report.guesses))
    elif bound.counts is not None:
        c = bound.counts
        parts.append(
            f"wrong on {c.fp:,} of {c.out:,} {unit(report)} {named.out} "
            f"and on {c.fn:,} of {c.inn:,} {named.then_inn}"
        )
    elif bound.trials == (0, 0):
        parts.append(f"no {unit(report)} have judged yet")
    elif bound.trials is not None:
        out, inn = bound.trials
        of = f"{out:,} {unit(report)} {named.out} and of {inn:,} {named.then_inn}"
        parts.append(f"the scores of {of}")
    if bound.interval is not None:
        low, high = bound.interval
        end = "no limit" if math.isinf(high) else nearest(high)
        parts.append(
            f"what it shows is from {at_least(low)} to {end} "
            f"({percent(bound.confidence)} two-sided, of this rule alone)"
        )
    parts.append(f"selection: {bound.selection}")
    parts.append(f"{bound.estimator}, which {assumes(bound, report.claim)}")
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
    claimed, ceiling = nearest(report.claim.epsilon, digits), nearest(report.reach, digits)
    found = certified(bound, report.claim, digits)
    models = f"{judging(report):,} {'' if report.guesses else 'judging '}{unit(report)}"
    if report.verdict == "NO_GUARANTEE_CLAIMED":
        could = report.untested or f"{models} could have certified up to {ceiling}"
        return (
            f"{found}. Nothing was promised for {report.claim.unit}, so that nothing is refuted; "
            f"{could}."
        )
    if report.verdict == "VIOLATION":
        return (
            f"{found}, above the claim of {claimed}. The claim does not hold for what was run "
            f"here. ({models} could certify at most {ceiling}.)"
        )
    if bound.epsilon > report.claim.epsilon:
        return (
            f"{found}, above the claim of {claimed}; but this {assumes(bound, report.claim)}, "
            f"which the claim does not promise, so it cannot decide (ceiling {ceiling})."
        )
    if report.verdict == "NO_VIOLATION_FOUND":
        return (
            f"{found}, which does not refute the claim of {claimed}; {models} could have certified "
            f"up to {ceiling}. This is not a proof of privacy: {beyond(report)}."
        )
    if report.untested:
        return (
            f"{report.untested}. This audit had nothing to find, so that it can neither refute nor "
            f"support the claim of {claimed}."
        )
    if report.growth is not None and not judging(report):
        return (
            f"it stopped while its {report.models['choosing']:,} {unit(report)} only fitted rules, "
            f"before any was judged: it can neither refute nor support the claim of {claimed}."
        )
    if report.reach < report.claim.epsilon:
        return (
            f"what decides here could not have certified more than {ceiling} with {models} (by "
            f"{bound.estimator}, {percent(bound.confidence)} confidence), below the claim of "
            f"{claimed}. This audit can neither refute nor support the claim; {found}."
        )
    return f"{found}, which does not settle the claim of {claimed} (ceiling {ceiling})."


def looks_line(report: Report) -> str:
    """That this is not the first judgement, if it is not, and what that costs."""
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


def certified(bound: Bound, claim: Claim, digits: int) -> str:
    """How much leaks at least; a bound of 0 is said to be no finding."""
    found, sure = at_least(bound.epsilon, digits), percent(bound.confidence)
    if float(found) == 0:
        return f"no leak is certified (epsilon at least {found}, {sure} confidence)"
    assuming = "" if bound.assumption == "none" else f" ({assumes(bound, claim)})"
    return f"with {sure} confidence the leak is at least epsilon {found}{assuming}"


def judging(report: Report) -> int:
    """How many models, or guesses, the primary bound was computed on."""
    if report.guesses is not None:
        return report.guesses.guesses
    return _models(report.bounds[report.primary]) or report.models["judging"]


def _models(bound: Bound) -> int:
    """How many models a bound was computed on; 0 where it does not tell."""
    if bound.counts is not None:
        return bound.counts.out + bound.counts.inn
    return sum(bound.trials or ())


def judged_on_all(report: Report, bounds: Sequence[Bound]) -> tuple[bool, bool]:
    """Whether some of the bounds had all models, and whether all of them had."""
    total = report.models["in"] + report.models["out"]
    whole = [_models(bound) == total for bound in bounds]
    return any(whole), all(whole)
