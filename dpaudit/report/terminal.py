"""The report for a terminal: plain text that a person understands without the paper."""

from __future__ import annotations

from collections.abc import Iterable

from dpaudit.report import promises, setting, words
from dpaudit.report.attacker import game
from dpaudit.report.consistent import check
from dpaudit.report.legend import legend
from dpaudit.report.table import table
from dpaudit.report.wrapping import NARROWEST, WIDEST, labelled, wrap
from dpaudit.results import Report, Verdict

BOLD, RESET = "\x1b[1m", "\x1b[0m"
COLORS = {
    "VIOLATION": "\x1b[1;31m",
    "NO_VIOLATION_FOUND": "\x1b[1;32m",
    "INCONCLUSIVE": "\x1b[1;33m",
    "NO_GUARANTEE_CLAIMED": "\x1b[1;33m",
}


def render(report: Report, width: int = 80, color: bool = False) -> str:
    """Render the report in lines of at most `width` columns; ANSI codes only with `color`.

    Widths below NARROWEST (80) or above WIDEST (96) count as those.
    """
    check(report)
    width = min(max(width, NARROWEST), WIDEST)
    digits = words.digits_needed(report)
    blocks = [
        _headline(report, width, digits),
        _setting(report, width, digits),
        _attacks(report, width, digits, color),
        _verdict(report, width, color),
        bullets("Warnings", report.warnings, "!", width),
        bullets("What to do next", report.next_steps, "-", width),
        _run(report, width),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _headline(report: Report, width: int, digits: int) -> list[str]:
    title = f"dpaudit: {promises.question(report.claim, digits)}"
    return [title, "=" * len(title), *wrap(game(report), width)]


def _setting(report: Report, width: int, digits: int) -> list[str]:
    claim = ("Claim", promises.lines(report.claim, digits))
    return [
        line
        for label, texts in (claim, *setting.played(report))
        for line in labelled(label, texts, width)
    ]


def _attacks(report: Report, width: int, digits: int, color: bool) -> list[str]:
    lines = []
    for line, deciding in table(report, width, digits):
        lines.append(f"{BOLD}{line}{RESET}" if color and deciding else line)
    lines.append("")
    for name, text in legend(report):
        lines += wrap(f"{name}: {text}", width, indent="  ")
    for text in words.deciding_lines(report):
        lines += wrap(text, width, indent="  ")
    if sentence := words.standing_out(report):
        lines += ["", *wrap(sentence, width)]
    return lines


def _verdict(report: Report, width: int, color: bool) -> list[str]:
    sentence = words.verdict_sentence(report, words.digits_needed(report))
    lines = verdict_lines(report.verdict, sentence, width, color)
    if looks := words.looks_line(report):
        lines += wrap(looks, width)
    return lines


def verdict_lines(verdict: Verdict, sentence: str, width: int, color: bool) -> list[str]:
    """Return the verdict and the sentence that it rests on."""
    label = words.VERDICTS[verdict]
    first, *others = wrap(f"{label}: {sentence}", width)
    return [first.replace(label, COLORS[verdict] + label + RESET, 1) if color else first, *others]


def bullets(title: str, texts: Iterable[str], mark: str, width: int) -> list[str]:
    """Texts below a title, each after a mark; nothing where there are none."""
    lines = [line for text in texts for line in wrap(f"{mark} {text}", width, indent="  ")]
    return [title, *lines] if lines else []


def _run(report: Report, width: int) -> list[str]:
    return [
        line for label, texts in setting.machinery(report) for line in labelled(label, texts, width)
    ]
