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
from dpaudit.report.document import Column, Document, Facts, Row, Table, Text, words
from dpaudit.report.formats import NOTHING, at_most, nearest, percent, power
from dpaudit.report.run_verdict import ending
from dpaudit.versions import versions

TITLES = ("false\nalarms", "its\ninterval", "mean\nepsilon", "of the\ntruth")
NEXT = "--verbose shows every bound."
READING = (
    "A false alarm is a number above the true epsilon. Its rate has a two-sided "
    f"{percent(results.SURE)} interval. A bound whose interval lies above what is allowed is "
    f"measured again in {results.AGAIN} times the audits, which alone decide. 'picked' decides a "
    "run, 'until decided' one that may stop at any pair; 'pure curve' is that of (epsilon, delta) "
    "itself. A 'best cut' is the threshold that shows most on the judged trials, a 'best count' "
    "the number of guesses that does. Bounds under an accountant's curve are rounded down to one "
    f"of a few curves, none above {REACH:g} times the truth: no alarm changes, and their mean is "
    "too low. A row far below its level is conservative, and would hide a small fault."
)
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
        ("Run", each),
        ("Asked", f"delta {power(s.delta)}, {percent(s.confidence)} confidence"),
        ("Allowed", f"false alarms in {_rate(s.level)} of audits"),
    ]
    parts = groupby(calibration.rows, key=lambda row: (row.mechanism, row.trials))
    rows = [row for _, part in parts for row in _part(list(part))]
    table = Table([*words("attack", "judged by"), *map(Column, TITLES)], rows)
    first, end = Text([verdict(calibration)], strong=True), ending([NEXT], where)
    return Document([first, _short_table(calibration), end], [Facts(facts), table, Text([READING])])


def _short_table(calibration: Calibration) -> Table:
    """Build a row for each mechanism: its bound that is wrong most often, and other rules."""
    titles = ("bounds", "most false alarms", "allowed", "other tools' most")
    rows, level = [], _rate(calibration.setting.level)
    for name, part in groupby(calibration.rows, key=lambda row: row.mechanism):
        of = [(row.standing, row.rate) for row in part]
        bounds, others = ([x for kind, x in of if kind == k] for k in ("bound", "no bound"))
        rows.append(Row([name, f"{len(bounds):,}", _most(bounds), level, _most(others)]))
    return Table([*words("mechanism"), *map(Column, titles)], rows)


def _most(rates: Sequence[float]) -> str:
    return f"{100 * max(rates):.1f} %" if rates else NOTHING


def _rate(share: float) -> str:
    return percent(round(share, 9))


def _part(calibrated: Sequence[CalibrationRow]) -> Iterator[Row]:
    first = calibrated[0]
    mechanism = f"{first.mechanism}, epsilon {nearest(first.epsilon)}"
    yield Row([f"{mechanism}; {first.trials:,} trials a world:"])
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
    again = f"{row.measured.repetitions:,} fresh audits, {percent(row.confidence)} interval"
    return f"({again}; at first {row.first.alarms:,} of {row.first.repetitions:,})"


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


def verdict(calibration: Calibration) -> str:
    """Say whether every bound held, and how surely a wrong one would have been found."""
    bounds, level = calibration.bounds, _rate(calibration.setting.level)
    would = f"A bound that is wrong in {at_most(100 * calibration.detectable_rate, 1)} % of audits"
    if calibration.detectable_rate == 1:
        would = "No rate of false alarms"
    strength = (
        f"{would} would have been found with {percent(results.POWER)}. If all bounds are correct, "
        f"the chance of flagging any is at most {at_most(100 * calibration.by_chance, 1)} %."
    )
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
