"""The audit of a user's own model, as a document, as JSON, and as a table of its scores."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from dpaudit.checkpoint.audit import CheckpointReport
from dpaudit.checkpoint.scoring import needed
from dpaudit.report import machine
from dpaudit.report.document import (
    Block,
    Column,
    Document,
    Facts,
    Heading,
    Legend,
    Row,
    Table,
    Text,
)
from dpaudit.report.formats import at_least, at_most, nearest, percent, power
from dpaudit.report.run_verdict import not_refuted, out_of_reach
from dpaudit.report.wording import (
    EPSILON,
    certified,
    claim_lines,
    conclusion,
    digits_needed,
    question,
    right_guesses,
    stands_on,
)

KIT = (
    "One model was trained with many planted records, the canaries, each of them put in or left "
    "out by a fair coin. A score then guesses from the model which of them were in: the better it "
    f"guesses, the more a training gives away about one record. {EPSILON}"
)
MEMBERS = (
    "One model is asked about records that it was trained on, the members, and about others. A "
    "score guesses which are which: the better it guesses, the more the model gives away about "
    "one record."
)
UNLESS = (
    "THESE ARE BOUNDS ONLY IF A FAIR COIN, TOSSED FOR EACH RECORD, CHOSE WHAT WAS TRAINED ON. "
    "Nothing here shows that. Members that were chosen otherwise (an earlier month, another "
    "source, a split by hand) may differ by themselves. The score then sees this difference and no "
    "leak, and the numbers below bound nothing. State --fair-coins if coins were tossed, or train "
    "with a kit (dpaudit canaries make)."
)
NO_COIN = (
    "NO BOUND: no fair coin chose these records, so that nothing can be said of epsilon. Train "
    "with a kit (dpaudit canaries make)."
)
RISK = "Risk of this model by this score, which describes it and bounds no epsilon:"
COLUMNS = [
    Column("estimator", words=True),
    Column("epsilon\nat least"),
    Column("ceiling"),
    Column("right\nguesses"),
    Column("assumes", words=True),
]
GUESSES = {1: "in", -1: "out", 0: ""}


def document(found: CheckpointReport) -> Document:
    """Build the document: setting, risk, bounds, verdict and what to do."""
    machine.check_numbers(found.bounds)
    claim = found.claim
    digits = digits_needed(found) if claim.guarantees and found.bounds else 2
    blocks: list[Block] = [
        Text([KIT if found.candidates.coins == "kit" else MEMBERS]),
        _setting(found, digits),
        Heading(RISK),
        Facts([(name, [text]) for name, text in risk_lines(found)]),
        *_bounds(found, digits),
    ]
    if claim.guarantees:
        blocks.append(conclusion(found.verdict, verdict_sentence(found, digits)))
    if found.warnings:
        blocks += [Heading("Warnings"), Text(found.warnings, mark="!")]
    if found.next_steps:
        blocks += [Heading("What to do next"), Text(found.next_steps, mark="-")]
    asked = question(claim, digits) if claim.guarantees else "how much does this model leak?"
    return Document(blocks, asked)


def _setting(found: CheckpointReport, digits: int) -> Facts:
    claim, candidates = found.claim, found.candidates
    inn = int(candidates.put_in.sum())
    out = len(candidates.put_in) - inn
    records = [candidates.about]
    if candidates.commitment is not None:
        records.append(f"coins put {inn:,} in and left {out:,} out")
        records.append(f"The coins are those that were sealed: {candidates.commitment}")
    elif candidates.coins == "stated":
        records.append("That a fair coin chose each of them is the user's statement.")
    score = [f"{found.score.name}: {found.score.words}; fixed before any coin was looked at"]
    if found.references:
        score.append(
            f"Reference models: {', '.join(found.references)}. They must not have been trained on "
            "these canaries, whose coins they would give away."
        )
    return Facts(
        [
            ("Claim", claim_lines(claim, digits) if claim.guarantees else []),
            ("Model", [found.model]),
            ("Canaries" if candidates.coins == "kit" else "Records", records),
            ("Score", score),
        ]
    )


def risk_lines(found: CheckpointReport) -> Iterator[tuple[str, str]]:
    """Yield the figures of risk, each with its name."""
    risk = found.risk
    low, high = risk.interval
    yield (
        "AUC",
        f"{nearest(risk.auc, 3)} ({percent(risk.confidence)} interval {at_least(low, 3)} … "
        f"{at_most(high, 3)}, by Hoeffding's bound)",
    )
    others = int((~found.candidates.put_in).sum())
    what, which = ("canaries", "were left out")
    if found.candidates.coins != "kit":
        what, which = ("records", "are no members")
    for fpr, tpr in risk.tpr.items():
        text = f"needs more {what}: {needed(fpr):,} that {which}, not {others:,}"
        yield f"TPR at {percent(fpr)} FPR", text if tpr is None else percent(round(tpr, 3))


# ---------------------------------------------------------------- bounds


def _bounds(found: CheckpointReport, digits: int) -> list[Block]:
    if not found.bounds:
        return [Text([NO_COIN])]
    rows = [
        Row(
            [
                bound.estimator,
                at_least(bound.epsilon, digits),
                nearest(bound.ceiling, digits),
                f"{guesses.correct:,} of {guesses.guesses:,}",
                stands_on(bound, found.request.family),
            ],
            *(bound is found.bounds[0],) * 2,
        )
        for bound in found.bounds
        if (guesses := bound.guesses)
    ]
    return [
        *([Text([UNLESS], strong=True)] if found.candidates.coins == "supposed" else []),
        Table(COLUMNS, rows),
        Legend([(bound.estimator, bound.sentence) for bound in found.bounds]),
        Text(reading(found), mark=""),
    ]


def reading(found: CheckpointReport) -> list[str]:
    """Say which bound decides, how it was selected, and what would invalidate it."""
    first = found.bounds[0]
    at = f"{percent(first.confidence)} confidence, delta {power(first.delta)}"
    decides = "> decides" if found.claim.guarantees else "> shows most surely"
    lines = [f"{decides}: {first.estimator}, {first.rule}; {at}; selection: {first.selection}."]
    for bound in found.bounds[1:]:
        why = "as no such curve is claimed" if bound.assumption != "none" else "beside it"
        lines.append(f"{bound.estimator} decides nothing, {why}.")
    return [*lines, _looks(found)]


def _looks(found: CheckpointReport) -> str:
    """Say what the bounds allow for of looking again, and what they do not."""
    if found.candidates.looks is None:
        return (
            "Another score that is tried because of what this one showed is a selection which no "
            "number here allows for: fix it beforehand (--score), or train with a kit."
        )
    if found.looks == 1:
        return (
            "This is the first look at the kit's coins. Any other (another model, score or number "
            "of guesses) is counted in the kit, and held to a higher confidence."
        )
    wanted, held = percent(found.request.confidence), percent(found.bounds[0].confidence)
    return (
        f"This is look {found.looks:,} at the kit's coins, held to {held} confidence instead of "
        f"{wanted}. That allows for the looks before it, not for a score that was made up because "
        "of what they showed of single canaries: for that, train with a fresh kit."
    )


def verdict_sentence(found: CheckpointReport, digits: int) -> str:
    """Say what the verdict rests on, with its numbers, and what it does not say."""
    claim, guesses = found.claim, found.guesses
    claimed = nearest(claim.epsilon, digits)
    if guesses is None:
        return f"without a fair coin nothing can be said of the claim of {claimed}."
    bound = found.bounds[0]
    ceiling, shown = nearest(bound.ceiling, digits), certified(bound, claim, digits)
    if found.candidates.coins == "supposed":
        above = bound.epsilon > claim.epsilon
        would = "would refute" if above else "would not refute"
        return (
            f"if a fair coin chose each record, {shown}, which {would} the claim of {claimed}; "
            "nobody says that one did, so it decides nothing."
        )
    many = f"{len(found.scores):,} canaries"
    if found.verdict == "VIOLATION":
        return (
            f"{shown}, above the claim of {claimed}. The claim does not hold for the training of "
            f"this model. ({right_guesses(guesses)}; so many could certify at most {ceiling}.)"
        )
    if bound.ceiling < claim.epsilon:
        return out_of_reach(bound, ceiling, claimed, many, shown)
    return not_refuted(
        shown, claimed, many, ceiling, "other canaries or a stronger score may show more"
    )


# ---------------------------------------------------------------- for a machine


def to_dict(found: CheckpointReport) -> dict[str, Any]:
    """Return all of it but the single scores as plain values; infinite or missing is None."""
    machine.check_numbers(found.bounds)
    claim, request, candidates, risk = found.claim, found.request, found.candidates, found.risk
    inn = int(candidates.put_in.sum())
    return machine.contract(
        "checkpoint",
        {
            "claim": claim.to_dict() if claim.guarantees else None,
            "verdict": found.verdict if claim.guarantees else None,
            "bounds": [
                {**machine.bound_values(bound), "guesses": bound.guesses and asdict(bound.guesses)}
                for bound in found.bounds
            ],
            "coins": candidates.coins,
            "commitment": candidates.commitment,
            "canaries": {"in": inn, "out": len(candidates.put_in) - inn, "about": candidates.about},
            "model": found.model,
            "score": {"name": found.score.name, "about": found.score.words},
            "references": found.references,
            "looks": found.looks,
            "risk": {
                "auc": risk.auc,
                "interval": risk.interval,
                "confidence": risk.confidence,
                "tpr": [{"fpr": fpr, "tpr": tpr} for fpr, tpr in risk.tpr.items()],
            },
            "delta": claim.delta,
            "confidence": request.confidence,
            "curve": request.curve or None,
            "seed": found.seed,
            "warnings": found.warnings,
            "next_steps": found.next_steps,
            "versions": found.versions,
        },
    )


def score_table(found: CheckpointReport) -> str:
    """Write a CSV row for each record: number, label, coin, guess, score and statistics."""
    statistics = found.outputs.statistics
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["canary", "label", "coin", "guess", "score", "log_odds", "loss", *statistics])
    for i, score in enumerate(found.scores):
        numbers: Sequence[float] = [
            found.outputs.log_odds[i],
            -found.outputs.log_p[i] + 0.0,
            *(values[i] for values in statistics.values()),
        ]
        rows.writerow(
            [
                i,
                int(found.candidates.records.y[i]),
                "in" if found.candidates.put_in[i] else "out",
                GUESSES[int(found.calls[i])],
                repr(float(score)),
                *(f"{number:.9g}" for number in numbers),
            ]
        )
    return text.getvalue()
