"""What an audit concludes in one sentence and in a few numbers: for those who read no report."""

from __future__ import annotations

from typing import Any

from dpaudit.report import words
from dpaudit.report.machine import plain
from dpaudit.results import Report


def conclusion(report: Report) -> str:
    """The verdict, and the sentence that it rests on."""
    digits = words.digits_needed(report)
    return f"{words.VERDICTS[report.verdict]}: {words.verdict_sentence(report, digits)}"


def numbers(report: Report) -> dict[str, Any]:
    """The claim, the bound that decides and the ceiling, by name; None where there is no limit."""
    bound = report.bounds[report.primary]
    told: dict[str, Any] = plain(
        {
            "verdict": report.verdict,
            "claim": report.claim.epsilon,
            "delta": report.claim.delta,
            "bound": bound.epsilon,
            "confidence": bound.confidence,
            "ceiling": report.reach,
            "assumption": bound.assumption,
            "attack": bound.attack,
            "estimator": bound.estimator,
            "models": report.models["in"] + report.models["out"],
            "seed": report.seed,
        }
    )
    return told
