"""A refuted claim as the message of a failing test: a few lines that say what was found."""

from __future__ import annotations

from dpaudit.judging.advice import BREAKS
from dpaudit.report import formats, promises, setting, words
from dpaudit.report.wrapping import LABEL, NARROWEST, labelled, wrap
from dpaudit.results import Report


def refutation(report: Report, name: str, false_alarm: float, again: str = "") -> str:
    """What a test says of a claim that its audit has refuted, `again` how to see it once more."""
    digits = words.digits_needed(report)
    bound = report.bounds[report.primary]
    promised, _, source, *curve = promises.lines(report.claim, digits)
    told = dict(setting.played(report))
    lines = wrap(
        f"{name} is not as private as it claims: {words.verdict_sentence(report, digits)}",
        NARROWEST,
    )
    for label, texts in (
        ("Claim", [promised, source, *curve]),
        ("Canary", told["Canary"]),
        ("Models", told["Models"][:2]),
        ("Attack", [f"{bound.attack}: {words.decision_line(bound, report)}"]),
        ("Chance", [_chance(false_alarm)]),
        ("Now", [BREAKS]),
        ("Again", [f"the same call trains the same models (seed {report.seed})"]),
    ):
        lines += labelled(label, texts, NARROWEST)
    # In one line, to be copied.
    return "\n".join([*lines, f"{'':<{LABEL}}{formats.printable(again)}"] if again else lines)


def _chance(false_alarm: float) -> str:
    odds = formats.power(false_alarm)
    return f"if the claim held, a test would fail like this with a probability of at most {odds}"
