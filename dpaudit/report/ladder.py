"""A ladder of adversaries as a document and as JSON: how much of one claim each certifies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpaudit.files import write_whole
from dpaudit.judging import outcome
from dpaudit.judging.ladder import Ladder, Rung
from dpaudit.report import figure_ladder, machine, to_html
from dpaudit.report.document import (
    Block,
    Column,
    Conclusion,
    Document,
    Facts,
    Figure,
    Heading,
    Link,
    Row,
    Table,
    Text,
    words,
)
from dpaudit.report.formats import NOTHING, at_least, nearest, percent, shorten
from dpaudit.report.run import write_page
from dpaudit.report.run_setting import recipe
from dpaudit.report.run_verdict import NO_EVIDENCE, bars, ending
from dpaudit.report.wording import LABELS, digits_needed, promise, unit
from dpaudit.results import Report

COLUMNS = (
    *words("attacker", "may do and sees", "training"),
    *map(Column, ("by curve", "no assumptions")),
)

STANDS_ON = (
    "The bound by curve decides, where the claim has a curve: it holds if the mechanism has that "
    "kind of curve. The bound without assumptions holds for any mechanism."
)


def document(ladder: Ladder, where: str = "", page: bool = False) -> Document:
    """Build the summary, and a section for each adversary; a `page` has the figure."""
    digits = _digits(ladder)
    figure: list[Block] = []
    if page:
        text = "A bar is a certified epsilon. The line is the claim, the same for all attackers."
        numbers = "; ".join(
            f"{r.name}: {', '.join(_numbers(r, digits))}" for r, *_ in ladder.played
        )
        title = "How much of the claim each attacker certifies"
        figure = [Figure("ladder", title, text, numbers, figure_ladder.draw(ladder, digits))]
    sections = [block for rung in ladder.rungs for block in _section(rung)]
    each = percent(round(ladder.strongest[-1].confidence, 4))
    together = percent(ladder.confidence)
    shared = f"Each bound that decides has {each} confidence, all of them together {together}."
    return Document(
        _summary(ladder, digits, where),
        [*figure, Text([*_insiders(ladder), STANDS_ON, shared]), *sections],
        f"one claim, every attacker: {promise(ladder.claim, digits)}",
        f"dpaudit ladder: {LABELS[ladder.strength]}",
    )


def _summary(ladder: Ladder, digits: int, where: str) -> list[Block]:
    strongest, _, bound = ladder.strongest
    rows = []
    for rung, report, _ in ladder.played:
        cells = [rung.name, powers(rung), training(report), *_numbers(rung, digits)]
        rows.append(Row(cells, marked=rung is strongest))
    return [
        Conclusion(ladder.strength, sentence(ladder)),
        bars(ladder.claim, bound.epsilon, digits),
        Table(COLUMNS, rows),
        Facts([("Left out", left_out(ladder)), *ending([next_step(ladder)], where).entries]),
    ]


def sentence(ladder: Ladder) -> str:
    """Say what the strongest adversary certifies, and what that says of the claim."""
    digits = _digits(ladder)
    rung, report, bound = ladder.strongest
    claim = report.claim if ladder.strength == "refuted" else ladder.claim
    shown, claimed = at_least(bound.epsilon, digits), nearest(claim.epsilon, digits)
    sure = f"({percent(ladder.confidence)} confidence, all attackers together)"
    of = f"{shown} of the claimed epsilon {claimed} {sure}."
    match ladder.strength:
        case "refuted":
            text = f"the claim of epsilon {claimed} does not hold; {rung.name} certifies {shown}"
            return f"{text} {sure}."
        case "strong":
            return f"{rung.name} certifies {of}"
        case "weak":
            return f"no attacker certifies more than {of} {NO_EVIDENCE}"
    return f"{rung.name} certifies {shown} {sure}. Nothing is claimed, so nothing is refuted."


def left_out(ladder: Ladder) -> list[str]:
    """Name the adversaries that were left out in one line, with the reason if there is only one."""
    names = [rung.name for rung in ladder.rungs if rung.left_out]
    reasons = {rung.left_out for rung in ladder.rungs if rung.left_out}
    why = reasons.pop() if len(reasons) == 1 else "report.html has the reasons"
    return [shorten(f"{', '.join(names)} ({why})")] if names else []


def powers(rung: Rung) -> str:
    """Say in a few words what an adversary may do and sees; other mechanisms ask no model."""
    named = rung.report is None or rung.report.attacker == rung.adversary
    return rung.powers if named else "sees the release"


def training(report: Report) -> str:
    """Say in a few words on which batches models were trained."""
    if not report.training:
        return NOTHING
    steps, batch = report.training["steps"], report.training["batch"]
    if report.training["sample_rate"] == 1:
        return f"{steps:,} full batches"
    return f"{steps:,} batches of {batch:,.0f}"


def trials(report: Report) -> str:
    """Say how many trials the bounds rest on."""
    if report.guesses is not None:
        return f"1 model with {report.guesses.canaries:,} canaries"
    return f"{report.models['in'] + report.models['out']:,} {unit(report)}"


def _digits(ladder: Ladder) -> int:
    return max(digits_needed(report) for _, report, _ in ladder.played)


def _numbers(rung: Rung, digits: int) -> list[str]:
    """Return the bounds by curve and without assumptions, rounded down."""
    bounds = (rung.by_curve, rung.without_assumptions)
    return [NOTHING if b is None else at_least(b.epsilon, digits) for b in bounds]


def _insiders(ladder: Ladder) -> list[str]:
    """Tell what all attackers but the observer may do, if any of them was played."""
    if len(ladder.played) == 1:
        return []
    put_in = [r.name for r, report, _ in ladder.played if "label" not in report.canary]
    gradients = f"; these also put gradients in: {', '.join(put_in)}" if put_in else ""
    return [f"All but the observer choose where training starts{gradients}."]


def next_step(ladder: Ladder) -> str:
    """Return the advice on the ladder as a whole."""
    if ladder.strength == "refuted":
        return f"Look for what breaks the claim: see the report of {ladder.strongest[0].name}."
    return "More models (--models) or steps (--steps) certify more, if there is more to find."


def _section(rung: Rung) -> list[Block]:
    """Build the section of one adversary, with a link to its own report."""
    report = rung.report
    rows: list[tuple[str, str | Sequence[str]]] = [("Chooses", rung.chose), ("Sees", rung.sees)]
    if report is None:
        return [Heading(rung.name), Facts([*rows, ("Left out", rung.left_out)])]
    if report.attacker != rung.adversary:  # described by the mechanism
        rows = [("Attacker", report.adversary)]
    rows.append(("Training", recipe(report.training) if report.training else []))
    rows += [("Trials", trials(report)), ("Meaning", report.deployment)]
    link = Link("The whole report", f"{rung.folder}/report.html")
    return [Heading(rung.name), Facts(rows), link]


def to_dict(ladder: Ladder) -> dict[str, Any]:
    """Return the ladder as plain values; infinite or missing values are None."""
    return machine.contract(
        "ladder",
        {
            "claim": ladder.claim.to_dict(),
            "confidence": ladder.confidence,
            "verdict": ladder.verdict,
            "strength": ladder.strength,
            "rungs": [_rung_values(rung) for rung in ladder.rungs],
        },
    )


def _rung_values(rung: Rung) -> Mapping[str, Any]:
    report = rung.report
    values = {"name": rung.name, "adversary": rung.adversary}
    values |= {"chose": rung.chose, "sees": rung.sees, "left_out": rung.left_out}
    if report is None:
        return {**values, **dict.fromkeys(PLAYED)}
    outcome.check(report)
    bounds = (rung.deciding, rung.by_curve, rung.without_assumptions)
    played = (
        *(rung.folder, report.verdict, report.claim.epsilon, report.training or None),
        *(report.models, report.guesses and report.guesses.canaries),
        *(bound and machine.bound_values(bound) for bound in bounds),
    )
    return {**values, **dict(zip(PLAYED, played, strict=True))}


PLAYED = (
    *("folder", "verdict", "claimed", "training", "models", "canaries"),
    *("deciding", "by_curve", "without_assumptions"),
)
"""The fields that a rung lacks which was left out."""


def dump(ladder: Ladder, path: str | os.PathLike[str]) -> None:
    """Write the ladder as JSON, whole or not at all."""
    machine.write(to_dict(ladder), path)


def dump_html(ladder: Ladder, path: str | os.PathLike[str]) -> None:
    """Write the page, whole or not at all."""
    write_whole(path, to_html.write(document(ladder, page=True)).encode())


def write_folder(ladder: Ladder, folder: Path) -> None:
    """Write report.json, report.html and figures/ladder.png into the ladder's folder."""
    write_page(document(ladder, page=True), folder)
    dump(ladder, folder / "report.json")
