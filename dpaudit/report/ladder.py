"""A ladder of adversaries as a document and as JSON: how much of one claim each certifies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpaudit.errors import write_error
from dpaudit.files import write_whole
from dpaudit.judging.ladder import Ladder, Rung
from dpaudit.report import drawing, figure_ladder, machine, to_html, to_terminal
from dpaudit.report.document import (
    Bar,
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
)
from dpaudit.report.formats import NOTHING, at_least, nearest, percent
from dpaudit.report.machine import check
from dpaudit.report.run_setting import recipe
from dpaudit.report.wording import claimed_epsilon, digits_needed, promise, unit
from dpaudit.results import Report

LABELS = {
    "refuted": "REFUTED",
    "strong": "HELD AGAINST A STRONG TEST",
    "weak": "WEAK TEST",
    "not-claimed": "NO GUARANTEE CLAIMED",
}

COLUMNS = (
    Column("attacker", words=True),
    Column("may do and sees", words=True),
    Column("training", words=True),
    Column("certified\nby curve"),
    Column("assuming\nnothing"),
)

STANDS_ON = (
    "By curve: assumes that the mechanism has the kind of trade-off curve that it claims. "
    "Assuming nothing: holds for any mechanism. The bound that decides is the one by curve, where "
    "there is one. A bound of 0.00 means that nothing could be shown, not that nothing leaks."
)


def document(ladder: Ladder) -> Document:
    """Build the page: the summary, the figure, and a section for each adversary."""
    digits = _digits(ladder)
    conclusion, bar, *others = summary(ladder)
    drawn = Figure(
        "ladder",
        "How much of the claim each attacker certifies",
        "A longer bar is a larger lower bound on the leak; the claim is refuted where one passes "
        "the line. The training differs from attacker to attacker, the claim does not.",
        "; ".join(f"{r.name}: {', '.join(_numbers(r, digits))}" for r, *_ in ladder.played),
        figure_ladder.draw(ladder, digits),
    )
    sections = [block for rung in ladder.rungs for block in _section(rung)]
    deciding = ladder.strongest[-1]
    shared = (
        f"All deciding bounds hold together with {percent(ladder.confidence)} confidence: each is "
        f"held to {percent(deciding.confidence)}."
    )
    blocks = [conclusion, bar, drawn, *others, Text([STANDS_ON, shared]), *sections]
    title = f"one claim, every attacker: {promise(ladder.claim, digits)}"
    return Document(blocks, title, f"dpaudit ladder: {LABELS[ladder.strength]}")


def summary(ladder: Ladder) -> list[Block]:
    """Build what a terminal shows: verdict, bar, table, and what to do next."""
    digits = _digits(ladder)
    strongest, _, bound = ladder.strongest
    marks = (
        ("claimed, at most", claimed_epsilon(ladder.claim, digits), ladder.claim.epsilon),
        ("certified, at least", at_least(bound.epsilon, digits), bound.epsilon),
    )
    rows = [
        Row(
            [rung.name, powers(rung), training(report), *_numbers(rung, digits)],
            strong=rung is strongest,
        )
        for rung, report, _ in ladder.played
    ]
    return [
        Conclusion(ladder.verdict, LABELS[ladder.strength], sentence(ladder)),
        Bar(marks),
        Table(COLUMNS, rows),
        Text([*left_out(ladder), *_insiders(ladder), *_next_steps(ladder)]),
    ]


def render(ladder: Ladder, width: int = to_terminal.NARROWEST, color: bool = False) -> str:
    """Render the summary for a terminal."""
    return to_terminal.write(Document(summary(ladder)), width, color)


def sentence(ladder: Ladder) -> str:
    """Say what the strongest adversary certifies, and what that says of the claim."""
    digits = _digits(ladder)
    rung, report, bound = ladder.strongest
    shown, claimed = at_least(bound.epsilon, digits), nearest(report.claim.epsilon, digits)
    found = f"{rung.name} certifies epsilon {shown}"
    sure = f"({percent(ladder.confidence)} confidence, all attackers together)"
    if ladder.strength == "not-claimed":
        return f"{found} {sure}. Nothing is claimed, so nothing can be refuted."
    if ladder.strength == "refuted":
        return f"{found}, above the claim of {claimed} {sure}."
    share = f"{percent(int(100 * bound.epsilon / report.claim.epsilon) / 100)} of the claim"
    if ladder.strength == "weak":
        return f"{found}, {share} of {claimed} {sure}. This is no evidence of privacy."
    return f"{found}, {share} of {claimed}. No attacker refutes it {sure}."


def left_out(ladder: Ladder) -> list[str]:
    """Name the adversaries that were left out in one line, with the reason if there is only one."""
    names = [rung.name for rung in ladder.rungs if rung.left_out]
    reasons = {rung.left_out for rung in ladder.rungs if rung.left_out}
    why = reasons.pop() if len(reasons) == 1 else "report.html has the reasons"
    return [f"Left out: {', '.join(names)} ({why})."] if names else []


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
    start = "All but the observer choose where training starts"
    return [
        f"{start}; these also put gradients in: {', '.join(put_in)}." if put_in else f"{start}."
    ]


def _next_steps(ladder: Ladder) -> list[str]:
    """Return the advice on the ladder as a whole."""
    advice = {
        "refuted": f"look for what breaks the claim; the report of {ladder.strongest[0].name} "
        "says where",
        "strong": "more models (--models) come nearer to the claim",
    }
    weak = "more models (--models) certify more, if there is more to find"
    return [f"Next: {advice.get(ladder.strength, weak)}."]


def _section(rung: Rung) -> list[Block]:
    """Build the section of one adversary, with a link to its own report."""
    rows: list[tuple[str, Sequence[str]]] = [("Chooses", [rung.chose]), ("Sees", [rung.sees])]
    if rung.report is None:
        return [Heading(rung.name), Facts([*rows, ("Left out", [rung.left_out])])]
    report = rung.report
    if report.attacker != rung.adversary:  # described by the mechanism
        rows = [("Attacker", [report.adversary])]
    if report.training:
        rows.append(("Training", recipe(report.training)))
    rows += [("Trials", [trials(report)]), ("Meaning", [report.deployment])]
    facts = Facts([(label, [line for line in lines if line]) for label, lines in rows])
    return [Heading(rung.name), facts, Link("The whole report", f"{rung.folder}/report.html")]


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
    check(report)
    bounds = (rung.deciding, rung.by_curve, rung.without_assumptions)
    return {
        **values,
        "folder": rung.folder,
        "verdict": report.verdict,
        "claimed": report.claim.epsilon,
        "training": report.training or None,
        "models": report.models,
        "canaries": report.guesses and report.guesses.canaries,
        **{
            name: bound and machine.bound_values(bound)
            for name, bound in zip(PLAYED[-3:], bounds, strict=True)
        },
    }


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
    write_whole(path, to_html.write(document(ladder)).encode())


def write_folder(ladder: Ladder, folder: Path) -> None:
    """Write report.json, report.html and figures/ladder.png into the ladder's folder."""
    images = folder / "figures"
    try:
        images.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(images, error) from error
    dump(ladder, folder / "report.json")
    dump_html(ladder, folder / "report.html")
    drawing.dump(figure_ladder.draw(ladder, _digits(ladder)), images / "ladder.png")
