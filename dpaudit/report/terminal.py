"""The report for a terminal: plain text that a person understands without the paper."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from dpaudit.report import formats, words
from dpaudit.report.consistent import check
from dpaudit.report.table import table
from dpaudit.types import Report

NARROWEST, WIDEST = 72, 96
LABEL = 10

BOLD, RESET = "\x1b[1m", "\x1b[0m"
COLORS = {
    "VIOLATION": "\x1b[1;31m",
    "NO_VIOLATION_FOUND": "\x1b[1;32m",
    "INCONCLUSIVE": "\x1b[1;33m",
}

GAME = (
    "Models were trained with and without one planted record, the canary. Attacks then guess from "
    "a model whether it had the canary: the better they guess, the more a model gives away about "
    "one record. Epsilon measures this leak: 0 is none, more is worse."
)
DATA = {
    "pool": "{} records in the training pool",
    "out": "{} records without the canary",
    "in": "{} with it",
    "shadow": "{} for shadow models",
    "test": "{} for testing",
    "classes": "{} classes",
}


def render(report: Report, width: int = 80, color: bool = False) -> str:
    """The report as lines of at most `width` columns (72 to 96); ANSI codes only with `color`."""
    check(report)
    width = min(max(width, NARROWEST), WIDEST)
    digits = words.digits_needed(report)
    blocks = [
        _headline(report, width, digits),
        _setting(report, width, digits),
        _attacks(report, width, digits, color),
        _verdict(report, width, digits, color),
        _bullets("Warnings", report.warnings, "!", width),
        _bullets("What to do next", report.next_steps, "-", width),
        _run(report, width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _headline(report: Report, width: int, digits: int) -> list[str]:
    claimed = formats.nearest(report.claim.epsilon, digits)
    title = f"dpaudit: is the leak within the claimed epsilon of {claimed}?"
    return [title, "=" * len(title), *_wrap(GAME, width)]


def _setting(report: Report, width: int, digits: int) -> list[str]:
    models = words.models_lines(report.models)
    if utility := words.utility_line(report.utility):
        models.append(utility)
    return [
        *_labelled("Claim", words.claim_lines(report.claim, digits), width),
        *_labelled("Data", [_free(report.data, DATA)], width),
        *_labelled("Canary", [_free(report.canary, {})], width),
        *_labelled("Models", models, width),
        *_labelled("Attacker", [report.adversary], width),
    ]


def _attacks(report: Report, width: int, digits: int, color: bool) -> list[str]:
    lines = []
    for line, deciding in table(report, width, digits):
        lines.append(f"{BOLD}{line}{RESET}" if color and deciding else line)
    lines.append("")
    for name, text in words.legend(report):
        lines += _wrap(f"{name}: {text}", width, indent="  ")
    bound = report.bounds[report.primary]
    lines += _wrap(f"> decides: {words.decision_line(bound)}.", width, indent="  ")
    if len(report.bounds) > 1:
        lines += _wrap("The other rows are for comparison and never decide.", width, indent="  ")
    if sentence := words.standing_out(report):
        lines += ["", *_wrap(sentence, width)]
    return lines


def _verdict(report: Report, width: int, digits: int, color: bool) -> list[str]:
    label = words.VERDICTS[report.verdict]
    lines = _wrap(f"{label}: {words.verdict_sentence(report, digits)}", width)
    if color:
        lines[0] = lines[0].replace(label, COLORS[report.verdict] + label + RESET, 1)
    if report.looks > 1:
        lines += _wrap(
            f"This is look {report.looks} at the same models, so the deciding bound is held to "
            f"{formats.percent(report.bounds[report.primary].confidence)} confidence.",
            width,
        )
    return lines


def _bullets(title: str, texts: Iterable[str], mark: str, width: int) -> list[str]:
    lines = [line for text in texts for line in _wrap(f"{mark} {text}", width, indent="  ")]
    return [title, *lines] if lines else []


def _run(report: Report, width: int) -> list[str]:
    names = {"training": "training (all workers together)"}
    spent = ((names.get(what, what), formats.duration(s)) for what, s in report.seconds.items())
    seconds = ", ".join(f"{what} {duration}" for what, duration in spent)
    reason = report.backend.get("reason")
    backend = report.backend["name"] + (f" ({reason})" if reason else "")
    return [
        *_labelled("Backend", [backend], width),
        *_labelled("Time", [seconds], width),
        *_labelled("Seed", [str(report.seed)], width),
        *_labelled("Versions", [formats.value(report.versions)], width),
    ]


def _free(fields: Mapping[str, Any], phrases: Mapping[str, str]) -> str:
    """A free-form field as `name: how it was made; the rest as it comes`."""
    rest = ", ".join(
        phrases[key].format(formats.value(x)) if key in phrases else formats.value({key: x})
        for key, x in fields.items()
        if key not in ("name", "made")
    )
    about = "; ".join(formats.value(x) for x in (fields.get("made", ""), rest) if x)
    return ": ".join(formats.value(x) for x in (fields.get("name", ""), about) if x)


def _labelled(label: str, texts: Iterable[str], width: int) -> list[str]:
    lines = [line for text in texts for line in _wrap(text, width - LABEL)]
    return [f"{label if i == 0 else '':<{LABEL}}{line}" for i, line in enumerate(lines)]


def _wrap(text: str, width: int, indent: str = "") -> list[str]:
    hanging = f"{indent}  " if indent else ""
    glued = formats.printable(text).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(glued, width, initial_indent=indent, subsequent_indent=hanging)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
