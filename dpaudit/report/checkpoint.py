"""The audit of a user's own model, as a document, as JSON, and as a table of its scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from dpaudit.checkpoint.audit import CheckpointReport
from dpaudit.checkpoint.scoring import nonmembers_needed
from dpaudit.judging import outcome
from dpaudit.report import machine
from dpaudit.report.document import (
    Block,
    Column,
    Conclusion,
    Document,
    Facts,
    Heading,
    Row,
    Table,
    Text,
    words,
)
from dpaudit.report.formats import at_least, at_most, nearest, percent, power, shorten
from dpaudit.report.run_verdict import bars, ending, sentence
from dpaudit.report.wording import EPSILON, claim_lines, digits_needed, question, stands_on

KIT = (
    "One model was trained with many planted records, the canaries, each put in or left out by a "
    f"fair coin. A score guesses from the model which were in. {EPSILON}"
)
MEMBERS = (
    "One model is asked about records that it was trained on, the members, and about others. A "
    "score guesses which are which."
)
UNLESS = (
    "Nothing here shows that one did, so nothing is decided. State --fair-coins if coins were "
    "tossed, or train with a kit (dpaudit canaries make)."
)
SUPPOSED = (
    "These are bounds only if a fair coin, tossed for each record, chose what was trained on. "
    "Members that were chosen otherwise (an earlier month, another source, a split by hand) may "
    "differ by themselves. The score then sees this difference and no leak."
)
NO_COIN = (
    "no fair coin chose these records, so nothing can be said about epsilon. Train with a kit "
    "(dpaudit canaries make)."
)
RISK = "Risk of this model by this score, which describes it and bounds no epsilon:"
COLUMNS = [
    *words("estimator"),
    *map(Column, ("epsilon\nat least", "ceiling", "right\nguesses")),
    *words("assumes"),
]
GUESSES = {1: "in", -1: "out", 0: ""}


def document(report: CheckpointReport, where: str = "") -> Document:
    """Build the document: outcome and bounds, then setting, risk and warnings."""
    outcome.check_numbers(report.bounds)
    claim = report.claim
    digits = digits_needed(report) if claim.guarantees and report.bounds else 2
    details: list[Block] = [
        Text([KIT if report.candidates.coins == "kit" else MEMBERS]),
        _setting(report, digits),
        Heading(RISK),
        Facts(list(risk_lines(report))),
    ]
    if report.bounds:
        bounds = [(bound.estimator, bound.sentence) for bound in report.bounds]
        supposed = [Text([SUPPOSED])] if report.candidates.coins == "supposed" else []
        details += [Heading("Bounds"), *supposed, Facts(bounds), Text(reading(report), mark="")]
    if report.warnings:
        details += [Heading("Warnings"), Text(report.warnings, mark="!")]
    if report.next_steps:
        details += [Heading("What to do next"), Text(report.next_steps, mark="-")]
    title = question(claim, digits) if claim.guarantees else "how much does this model leak?"
    return Document(_summary(report, digits, where), details, title)


def _summary(report: CheckpointReport, digits: int, where: str) -> list[Block]:
    scored = [
        ("Attacker", f"one score: {shorten(report.score.words, 120)}"),
        ("Judged", f"{shorten(report.model, 60)}; AUC {nearest(report.risk.auc, 3)}"),
    ]
    summary: list[Block] = [Conclusion(report.strength, verdict_sentence(report, digits))]
    if report.bounds:
        summary.append(bars(report.claim, report.bounds[0].epsilon, digits))
    summary.append(Facts(scored))
    if report.bounds:
        summary.append(_table(report, digits))
    return [*summary, ending(report.next_steps, where, report.warnings)]


def _setting(report: CheckpointReport, digits: int) -> Facts:
    claim, candidates = report.claim, report.candidates
    inn = int(candidates.put_in.sum())
    out = len(candidates.put_in) - inn
    records = [candidates.about]
    if candidates.commitment is not None:
        records.append(f"coins put {inn:,} in and left {out:,} out")
        records.append(f"The coins are those that were sealed: {candidates.commitment}")
    elif candidates.coins == "stated":
        records.append("That a fair coin chose each of them is the user's statement.")
    score = [f"{report.score.name}: {report.score.words}; fixed before any coin was looked at"]
    if report.references:
        named = ", ".join(report.references)
        score.append(f"Reference models, which must not have had these canaries: {named}")
    facts = [
        ("Claim", claim_lines(claim, digits) if claim.guarantees else []),
        ("Model", [report.model]),
        ("Canaries" if candidates.coins == "kit" else "Records", records),
        ("Score", score),
    ]
    return Facts(facts)


def risk_lines(report: CheckpointReport) -> Iterator[tuple[str, str]]:
    """Yield the figures of risk, each with its name."""
    risk = report.risk
    low, high = risk.interval
    interval = f"{percent(risk.confidence)} interval {at_least(low, 3)} … {at_most(high, 3)}"
    yield "AUC", f"{nearest(risk.auc, 3)} ({interval}, by Hoeffding's bound)"
    others = int((~report.candidates.put_in).sum())
    kit = report.candidates.coins == "kit"
    what, which = ("canaries", "were left out") if kit else ("records", "are no members")
    for fpr, tpr in risk.tpr.items():
        text = f"needs more {what}: {nonmembers_needed(fpr):,} that {which}, not {others:,}"
        yield f"TPR at {percent(fpr)} FPR", text if tpr is None else percent(round(tpr, 3))


def _table(report: CheckpointReport, digits: int) -> Table:
    rows = []
    for bound in report.bounds:
        right = f"{bound.guesses.correct:,} of {bound.guesses.guesses:,}" if bound.guesses else ""
        numbers = [at_least(bound.epsilon, digits), nearest(bound.ceiling, digits), right]
        cells = [bound.estimator, *numbers, stands_on(bound, report.request.family)]
        rows.append(Row(cells, marked=bound is report.bounds[0]))
    return Table(COLUMNS, rows)


def reading(report: CheckpointReport) -> list[str]:
    """Say which bound decides, how it was selected, and what would invalidate it."""
    first = report.bounds[0]
    at = f"{percent(first.confidence)} confidence, delta {power(first.delta)}"
    decides = "> decides" if report.claim.guarantees else "> shows most surely"
    lines = [f"{decides}: {first.estimator}, {first.rule}; {at}; selection: {first.selection}."]
    for bound in report.bounds[1:]:
        why = "as no such curve is claimed" if bound.assumption != "none" else "beside it"
        lines.append(f"{bound.estimator} decides nothing, {why}.")
    return [*lines, _looks(report)]


def _looks(report: CheckpointReport) -> str:
    """Say what the bounds allow for of looking again, and what they do not."""
    if report.candidates.looks is None:
        return "Fix the score beforehand (--score): no number here allows for trying several."
    if report.looks == 1:
        return (
            "This is the first look at the kit's coins. Any other (another model, score or number "
            "of guesses) is counted in the kit, and held to a higher confidence."
        )
    wanted, held = percent(report.request.confidence), percent(report.bounds[0].confidence)
    return (
        f"This is look {report.looks:,} at the kit's coins, held to {held} confidence instead of "
        f"{wanted}. A score that was made up because of earlier looks needs a fresh kit."
    )


def verdict_sentence(report: CheckpointReport, digits: int) -> str:
    """Say what the verdict rests on, with its numbers, and what it does not say."""
    if not report.bounds:
        return NO_COIN
    if report.candidates.coins == "supposed":
        shown = at_least(report.bounds[0].epsilon, digits)
        return f"the leak is at least {shown} only if a fair coin chose each record. {UNLESS}"
    return sentence(report, digits)


def to_dict(report: CheckpointReport) -> dict[str, Any]:
    """Return all of it but the single scores as plain values; infinite or missing is None."""
    outcome.check_numbers(report.bounds)
    outcome.check_strength(report)
    claim, request, candidates, risk = report.claim, report.request, report.candidates, report.risk
    inn = int(candidates.put_in.sum())
    return machine.contract(
        "checkpoint",
        {
            "claim": claim.to_dict() if claim.guarantees else None,
            "verdict": report.verdict if claim.guarantees else None,
            "strength": report.strength,
            "bounds": [
                {**machine.bound_values(bound), "guesses": bound.guesses and asdict(bound.guesses)}
                for bound in report.bounds
            ],
            "coins": candidates.coins,
            "commitment": candidates.commitment,
            "canaries": {"in": inn, "out": len(candidates.put_in) - inn, "about": candidates.about},
            "model": report.model,
            "score": {"name": report.score.name, "about": report.score.words},
            "references": report.references,
            "looks": report.looks,
            "risk": {
                **asdict(risk),
                "tpr": [{"fpr": fpr, "tpr": tpr} for fpr, tpr in risk.tpr.items()],
            },
            "delta": claim.delta,
            "confidence": request.confidence,
            "curve": request.curve or None,
            "seed": report.seed,
            "warnings": report.warnings,
            "next_steps": report.next_steps,
            "versions": report.versions,
        },
    )


def score_table(report: CheckpointReport) -> str:
    """Write a CSV row for each record: number, label, coin, guess, score and statistics."""
    outputs, candidates = report.outputs, report.candidates
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(
        ["canary", "label", "coin", "guess", "score", "log_odds", "loss", *outputs.statistics]
    )
    numbers = [outputs.log_odds, 0.0 - outputs.log_p, *outputs.statistics.values()]
    for i, score in enumerate(report.scores):
        label, coin = int(candidates.records.y[i]), "in" if candidates.put_in[i] else "out"
        first = [i, label, coin, GUESSES[int(report.calls[i])], repr(float(score))]
        rows.writerow([*first, *(f"{values[i]:.9g}" for values in numbers)])
    return text.getvalue()
