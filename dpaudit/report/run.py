"""The report of a run as a document, and what is written from it.

IN_TERMINAL and ON_PAGE say which sections are shown, and in which order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from dpaudit.errors import write_error
from dpaudit.files import write_whole
from dpaudit.judging.advice import BREAKS
from dpaudit.report import drawing, run_figures, to_html, to_terminal
from dpaudit.report.document import Block, Document, Facts, Figure, Heading, Text
from dpaudit.report.formats import power, printable
from dpaudit.report.machine import check
from dpaudit.report.run_attacks import attacks, decision
from dpaudit.report.run_setting import contents, machinery, setting
from dpaudit.report.run_verdict import sentence, verdict
from dpaudit.report.wording import VERDICTS, claim_lines, digits_needed, game, question
from dpaudit.results import Report

Section: TypeAlias = Callable[[Report, int], Sequence[Block]]


def _lines(lines: Sequence[str], mark: str | None = None) -> list[Block]:
    return [Text(lines, mark)] if lines else []


IN_TERMINAL: Sequence[tuple[str, Section]] = (
    ("", lambda report, _: _lines([game(report)])),
    ("", setting),
    ("", attacks),
    ("", verdict),
    ("Warnings", lambda report, _: _lines(report.warnings, "!")),
    ("What to do next", lambda report, _: _lines(report.next_steps, "-")),
    ("", machinery),
)
ON_PAGE: Sequence[tuple[str, Section]] = (
    ("", verdict),
    ("", lambda report, _: _lines([game(report)])),
    ("What was tested", setting),
    ("Figures", run_figures.figures),
    ("Attacks", attacks),
    ("Warnings", lambda report, _: _lines(report.warnings, "!")),
    ("What to do next", lambda report, _: _lines(report.next_steps, "-")),
    ("How it was computed", machinery),
    ("What this file contains", lambda report, _: _lines(contents(report))),
)


def document(report: Report, sections: Sequence[tuple[str, Section]]) -> Document:
    """Build the document of a report; a section without blocks is left out with its heading."""
    check(report)
    digits = digits_needed(report)
    blocks: list[Block] = []
    for heading, section in sections:
        if content := section(report, digits):
            blocks += [Heading(heading), *content] if heading else content
    title = question(report.claim, digits)
    return Document(blocks, title, f"dpaudit: {VERDICTS[report.verdict]}")


def render(report: Report, width: int = to_terminal.NARROWEST, color: bool = False) -> str:
    """Render the report for a terminal, in lines of at most `width` columns."""
    return to_terminal.write(document(report, IN_TERMINAL), width, color)


def page(report: Report) -> str:
    """Render the report as an HTML page; the same report, the same bytes."""
    return to_html.write(document(report, ON_PAGE))


def dump_html(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page alone, whole or not at all."""
    write_whole(path, page(report).encode())


def write_folder(report: Report, folder: str | os.PathLike[str]) -> None:
    """Write report.html and figures/*.png into a run's folder.

    Figures of an earlier report that this one lacks are removed first: one may be the image of
    the canary, which this report leaves out.
    """
    made = document(report, ON_PAGE)
    figures = [block for block in made.blocks if isinstance(block, Figure)]
    whole = to_html.write(made)
    images = Path(folder) / "figures"
    try:
        images.mkdir(parents=True, exist_ok=True)
        for name in set(run_figures.NAMES) - {figure.name for figure in figures}:
            (images / f"{name}.png").unlink(missing_ok=True)
    except OSError as error:
        raise write_error(images, error) from error
    write_whole(Path(folder) / "report.html", whole.encode())
    for figure in figures:
        write_whole(images / f"{figure.name}.png", drawing.png(figure.drawing))


def refutation(report: Report, name: str, false_alarm: float, again: str = "") -> str:
    """Render a refuted claim as the message of a failing test; `again` repeats the audit."""
    digits = digits_needed(report)
    bound = report.bounds[report.primary]
    limit, _, source, *curve = claim_lines(report.claim, digits)
    facts = dict(setting(report, digits)[0].rows)
    chance = (
        "if the claim held, a test would fail like this with a probability of at most "
        f"{power(false_alarm)}"
    )
    message = Document(
        [
            Text([f"{name} is not as private as it claims: {sentence(report, digits)}"]),
            Facts(
                [
                    ("Claim", [limit, source, *curve]),
                    ("Canary", facts["Canary"]),
                    ("Models", facts["Models"][:2]),
                    ("Attack", [f"{bound.attack}: {decision(bound, report)}"]),
                    ("Chance", [chance]),
                    ("Now", [BREAKS]),
                    ("Again", [f"the same call trains the same models (seed {report.seed})"]),
                ]
            ),
        ]
    )
    lines = to_terminal.write(message)
    # In one line, to be copied.
    return f"{lines}\n{'':<{to_terminal.LABEL}}{printable(again)}" if again else lines
