"""The report of a run as a document, and what is written from it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dpaudit.errors import write_error
from dpaudit.files import write_whole
from dpaudit.judging.advice import BREAKS
from dpaudit.judging.outcome import check
from dpaudit.report import drawing, run_figures, to_html, to_terminal
from dpaudit.report.document import COLUMNS, Block, Document, Facts, Figure, Heading, Text
from dpaudit.report.formats import power, printable
from dpaudit.report.run_attacks import attacks, decision
from dpaudit.report.run_setting import contents, machinery, setting
from dpaudit.report.run_verdict import sentence, summary
from dpaudit.report.to_terminal import Detail
from dpaudit.report.wording import LABELS, claim_lines, digits_needed, game, question
from dpaudit.results import Report


def document(report: Report, where: str = "", page: bool = False) -> Document:
    """Build the document of a report; a `page` has figures, and says what it contains."""
    check(report)
    digits = digits_needed(report)
    sections: list[tuple[str, Sequence[Block]]] = [
        ("What was tested", setting(report, digits)),
        ("Figures", list(run_figures.figures(report, digits)) if page else []),
        ("Attacks", attacks(report, digits)),
        ("Warnings", [Text(report.warnings, mark="!")] if report.warnings else []),
        ("What to do next", [Text(report.next_steps, mark="-")] if report.next_steps else []),
        ("How it was computed", machinery(report, digits)),
        ("What this file contains", [Text(contents(report))] if page else []),
    ]
    details: list[Block] = [Text([game(report)])]
    for heading, blocks in sections:
        details += [Heading(heading), *blocks] if blocks else []
    return Document(
        summary(report, digits, where),
        details,
        question(report.claim, digits),
        f"dpaudit: {LABELS[report.strength]}",
    )


def render(
    report: Report,
    width: int = COLUMNS,
    color: bool = False,
    detail: Detail = "all",
    where: str = "",
) -> str:
    """Render the report for a terminal, in lines of at most `width` columns."""
    return to_terminal.write(document(report, where), width, color, detail)


def page(report: Report) -> str:
    """Render the report as an HTML page; the same report, the same bytes."""
    return to_html.write(document(report, page=True))


def dump_html(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page alone, whole or not at all."""
    write_whole(path, page(report).encode())


def write_folder(report: Report, folder: str | os.PathLike[str]) -> None:
    """Write report.html and figures/*.png into a run's folder."""
    write_page(document(report, page=True), Path(folder))


def write_page(made: Document, folder: Path) -> None:
    """Write report.html and figures/*.png of a document.

    Figures of an earlier report that this one lacks are removed first: one may be the image of
    the canary, which this report leaves out.
    """
    figures = [block for block in made.details if isinstance(block, Figure)]
    whole = to_html.write(made)
    images = folder / "figures"
    try:
        images.mkdir(parents=True, exist_ok=True)
        for name in set(run_figures.NAMES) - {figure.name for figure in figures}:
            (images / f"{name}.png").unlink(missing_ok=True)
    except OSError as error:
        raise write_error(images, error) from error
    write_whole(folder / "report.html", whole.encode())
    for figure in figures:
        write_whole(images / f"{figure.name}.png", drawing.png(figure.drawing))


def refutation(report: Report, name: str, false_alarm: float, again: str = "") -> str:
    """Render a refuted claim as the message of a failing test; `again` repeats the audit."""
    digits = digits_needed(report)
    bound = report.bounds[report.primary]
    limit, _, source, *curve = claim_lines(report.claim, digits)
    facts = dict(setting(report, digits)[0].rows)
    chance = "if the claim held, a test would fail like this with a probability of at most"
    message = [
        ("Claim", [limit, source, *curve]),
        ("Canary", facts["Canary"]),
        ("Models", facts["Models"][:2]),
        ("Attack", f"{bound.attack}: {decision(bound, report)}"),
        ("Chance", f"{chance} {power(false_alarm)}"),
        ("Now", BREAKS),
        ("Again", f"the same call trains the same models (seed {report.seed})"),
    ]
    first = f"{name} is not as private as it claims: {sentence(report, digits)}"
    lines = to_terminal.write_blocks([Text([first]), Facts(message)])
    # In one line, to be copied.
    return f"{lines}\n{'':<{to_terminal.LABEL + 2}}{printable(again)}" if again else lines
