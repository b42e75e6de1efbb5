"""A calibration, as a document and as JSON: how often each bound is above the truth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from dpaudit.calibration import results
from dpaudit.calibration.all_methods import REACH
from dpaudit.calibration.calibrate import MANY
from dpaudit.calibration.results import Calibration, CalibrationRow
from dpaudit.report import machine
from dpaudit.report.document import Block, Column, Document, Facts, Row, Table, Text
from dpaudit.report.formats import NOTHING, at_most, nearest, percent, power
from dpaudit.versions import versions

COLUMNS = [
    Column("attack", words=True),
    Column("judged by", words=True),
    Column("false\nalarms"),
    Column("its\ninterval"),
    Column("mean\nepsilon"),
    Column("of the\ntruth"),
]
HEADINGS = {
    "bound": "bounds",
    "credible": "credible under a prior, which states no error rate",
    "no bound": "no bounds: what selection makes of the same trials",
}


def document(calibration: Calibration, where: str = "") -> Document:
    """Build a table with a part for each mechanism, how to read it, and whether bounds held."""
    s = calibration.setting
    each = f"{s.repetitions:,} audits of each, {s.trials:,} or {MANY * s.trials:,} trials a world"
    facts = [
        ("Run", [each]),
        ("Asked", [f"delta {power(s.delta)}, {percent(s.confidence)} confidence"]),
        ("Allowed", [f"false alarms in {_rate(s.level)} of audits"]),
    ]
    rows = [
        row
        for _, part in groupby(calibration.rows, key=lambda row: (row.mechanism, row.trials))
        for row in _part(list(part))
    ]
    first = verdict(calibration)
    summary: list[Block] = [
        Text([first], strong=True),
        _short_table(calibration),
        Facts([("Next", "--verbose shows every bound."), ("Report", [where] if where else [])]),
    ]
    return Document(summary, [Facts(facts), Table(COLUMNS, rows), Text([reading()])], first)


def _short_table(calibration: Calibration) -> Table:
    """Build a row for each mechanism: its bound that is wrong most often, and other rules."""
    titles = ("bounds", "most false alarms", "allowed", "other tools' most")
    rows = []
    for name, part in groupby(calibration.rows, key=lambda row: row.mechanism):
        by = {of: [r.rate for r in group] for of, group in _by_standing(list(part))}
        most = (f"{100 * max(rates):.1f} %" if (rates := by.get(of)) else NOTHING for of in KINDS)
        alarms, others = most
        cells = [f"{len(by.get('bound', [])):,}", alarms, _rate(calibration.setting.level), others]
        rows.append(Row([name, *cells]))
    return Table([Column("mechanism", words=True), *map(Column, titles)], rows)


KINDS = ("bound", "no bound")


def _by_standing(
    rows: Sequence[CalibrationRow],
) -> Iterator[tuple[str, Iterator[CalibrationRow]]]:
    ordered = sorted(rows, key=lambda row: row.standing)
    return groupby(ordered, key=lambda row: row.standing)


def _rate(share: float) -> str:
    return percent(round(share, 9))


def _part(calibrated: Sequence[CalibrationRow]) -> Iterator[Row]:
    first = calibrated[0]
    yield Row(
        [f"{first.mechanism}, epsilon {nearest(first.epsilon)}; {first.trials:,} trials a world:"]
    )
    for standing, heading in HEADINGS.items():
        below = [row for row in calibrated if row.standing == standing]
        if below and standing != "bound":
            yield Row([f"  ({heading})"])
        for row in below:
            yield Row(_cells(row))
            if again := retested(row):
                yield Row([f"    {again}"])


def retested(row: CalibrationRow) -> str:
    """Say that a row was measured twice, and what had been found at first."""
    if row.first is None:
        return ""
    return (
        f"({row.measured.repetitions:,} fresh audits, {percent(row.confidence)} interval; at first "
        f"{row.first.alarms:,} of {row.first.repetitions:,})"
    )


def _cells(row: CalibrationRow) -> list[str]:
    low, high = row.interval
    return [
        row.attack,
        row.judged,
        f"{100 * row.rate:.1f} %",
        f"{100 * low:.1f} … {100 * high:.1f}",
        nearest(row.measured.mean),
        NOTHING if row.share is None else f"{100 * row.share:.0f} %",
    ]


def reading() -> str:
    """Explain a row, and what it leaves open."""
    return (
        "A false alarm is a number above the true epsilon, at this delta or at the one that a "
        f"mechanism is named with. Its rate has an interval ({percent(results.SURE)}, two-sided). "
        "A bound whose interval lies above what is allowed is measured again in "
        f"{results.AGAIN} times the audits, which alone decide. The mean is over all audits; a "
        "bound that could not show more with so few trials is no worse for a low one. 'picked' "
        "decides a run, 'until decided' a run that may stop at any of its pairs; 'pure curve' is "
        "that of (epsilon, delta) itself. A 'best cut' is the threshold that shows most on the "
        "judged trials, a 'best count' the number of guesses that does. Bounds under an "
        "accountant's curve are rounded down to one of a few curves, none above "
        f"{REACH:g} times the truth: no alarm changes, and their mean is too low. A row far below "
        "its level is conservative, and would hide a small fault, such as a rule that is chosen "
        "on the trials that judge it."
    )


def verdict(calibration: Calibration) -> str:
    """Say whether every bound held, and how surely a wrong one would have been found."""
    bounds, level = calibration.bounds, _rate(calibration.setting.level)
    strength = _strength(calibration)
    if broken := calibration.broken:
        named = "; ".join(
            f"{row.attack} by {row.judged} on {row.mechanism} with {row.trials:,} trials, "
            f"{100 * row.rate:.1f} %"
            for row in broken
        )
        return (
            f"NOT EVERY BOUND HELD: {len(broken)} of {len(bounds)} are above the truth more often "
            f"than they state, measured twice: {named}. {strength} Please report it."
        )
    if calibration.held is None:
        return (
            f"TOO FEW REPETITIONS TO TELL: none of {len(bounds)} bounds is above the truth more "
            f"often than it states, but so few repetitions would hardly show it. {strength}"
        )
    twice = sum(row.first is not None for row in bounds)
    measured = f", {twice} of them measured twice" if twice else ""
    return (
        f"EVERY BOUND HELD: each of {len(bounds)} is above the truth no more often than it states, "
        f"in {level} of audits, within the interval of its rate{measured}. {strength}"
    )


def _strength(calibration: Calibration) -> str:
    """Say which rate of false alarms would have been found."""
    would = f"A bound that is wrong in {at_most(100 * calibration.detectable_rate, 1)} % of audits"
    if calibration.detectable_rate == 1:
        would = "No rate of false alarms"
    return (
        f"{would} would have been found with {percent(results.POWER)}. If all bounds are correct, "
        f"the chance of flagging any is at most {at_most(100 * calibration.by_chance, 1)} %."
    )


def to_dict(calibration: Calibration) -> dict[str, Any]:
    """Return all of it as plain values; infinite or missing values are None."""
    return machine.contract(
        "calibration",
        {
            **asdict(calibration.setting),
            "held": calibration.held,
            "found": calibration.detectable_rate,
            "found_with": results.POWER,
            "by_chance": calibration.by_chance,
            "rows": [_row(row) for row in calibration.rows],
            "versions": versions(),
        },
    )


def _row(row: CalibrationRow) -> dict[str, Any]:
    values = asdict(row)
    measured = values.pop("measured")
    return {
        **values,
        **measured,
        "rate": row.rate,
        "interval": row.interval,
        "interval_confidence": row.confidence,
        "share": row.share,
        "broken": row.broken,
    }
