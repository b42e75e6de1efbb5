"""How often bounds are wrong, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dpaudit.calibration import results
from dpaudit.calibration.all_methods import REACH
from dpaudit.calibration.calibrate import MANY
from dpaudit.calibration.results import Calibration, CalibrationRow, Measurement
from dpaudit.report.formats import at_most, nearest, percent, power
from dpaudit.report.words import NOTHING
from dpaudit.report.wrapping import labelled, wrap

WIDTH = 79
TITLES = [
    ("", "attack"),
    ("", "judged by"),
    ("false", "alarms"),
    ("its", "interval"),
    ("mean", "epsilon"),
    ("of the", "truth"),
]
HEADINGS = {
    "bound": "bounds",
    "credible": "credible under a prior, which states no error rate",
    "no bound": "no bounds: what selection makes of the same trials",
}


def render(found: Calibration) -> str:
    """A table for each mechanism, how to read it and, last, whether every bound held."""
    blocks = [_asked(found)]
    widths = _widths(found.rows)
    for _, rows in groupby(found.rows, key=lambda row: (row.mechanism, row.trials)):
        blocks.append(_table(list(rows), widths))
    blocks += [wrap(reading(found), WIDTH), wrap(verdict(found), WIDTH)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _asked(found: Calibration) -> list[str]:
    s = found.setting
    played = f"{s.repetitions:,} audits of each, {s.trials:,} or {MANY * s.trials:,} trials a world"
    return [
        *labelled("Played", [played], WIDTH),
        *labelled("Asked", [f"delta {power(s.delta)}, {percent(s.confidence)} confidence"], WIDTH),
        *labelled("Allowed", [f"false alarms in {_rate(s.level)} of audits"], WIDTH),
    ]


def _rate(share: float) -> str:
    return percent(round(share, 9))


# ---------------------------------------------------------------- the table


def _table(rows: Sequence[CalibrationRow], widths: Sequence[int]) -> list[str]:
    first = rows[0]
    lines = [
        f"{first.mechanism}, epsilon {nearest(first.epsilon)}; {first.trials:,} trials a world"
    ]
    lines += [_line([title[i] for title in TITLES], widths) for i in (0, 1)]
    lines.append("-" * (2 + sum(widths) + 2 * (len(widths) - 1)))
    for standing, heading in HEADINGS.items():
        below = [row for row in rows if row.standing == standing]
        if below and standing != "bound":
            lines.append(f"  ({heading})")
        for row in below:
            lines.append(_line(_cells(row), widths))
            if row.first is not None:
                lines.append(f"    {again(row, row.first)}")
    return lines


def again(row: CalibrationRow, first: Measurement) -> str:
    """That a row was measured twice, and what had been found at first."""
    return (
        f"({row.measured.repetitions:,} fresh audits, {percent(row.sure)} interval; at first "
        f"{first.alarms:,} of {first.repetitions:,})"
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


def _widths(rows: Sequence[CalibrationRow]) -> list[int]:
    return [max(map(len, column)) for column in zip(*map(_cells, rows), *_titles(), strict=True)]


def _titles() -> list[tuple[str, ...]]:
    return [tuple(title[i] for title in TITLES) for i in (0, 1)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return ("  " + "  ".join(padded)).rstrip()


# ---------------------------------------------------------------- how to read it


def reading(found: Calibration) -> str:
    """What a row says, and what it leaves open."""
    return (
        "A false alarm is a number above the true epsilon at this delta, or at the delta that a "
        "mechanism is named with. Its rate is measured, "
        f"and has an interval of its own ({percent(results.SURE)}, two-sided). A bound whose "
        f"interval lies above what is allowed is measured again in {results.AGAIN} times the "
        "audits, which alone decide. The mean is that over all audits; a bound that could not "
        "show more with so few trials is no worse for it. 'picked' is what decides a run, 'until decided' "
        "what one shows that may stop at any time, at any of its pairs; 'pure curve' is that of "
        "(epsilon, delta) itself. A 'best cut' is the threshold that shows most on the trials "
        "that are judged, a 'best count' the number of guesses that does. Bounds under an "
        "accountant's curve are rounded down to one of a few curves, none above "
        f"{REACH:g} times the truth: no alarm changes, and their mean is too low. A row far below "
        "its level is conservative, and would hide a small fault: a rule that peeks at the trials "
        "which judge it shows here only where it makes up for that."
    )


def verdict(found: Calibration) -> str:
    """Whether every bound kept its word, and how surely it would have been found if not."""
    bounds, level, told = found.bounds, _rate(found.setting.level), _told(found)
    if broken := found.broken:
        named = "; ".join(
            f"{row.attack} by {row.judged} on {row.mechanism} with {row.trials:,} trials, "
            f"{100 * row.rate:.1f} %"
            for row in broken
        )
        return (
            f"NOT EVERY BOUND HELD: {len(broken)} of {len(bounds)} are above the truth more often "
            f"than they state, measured twice: {named}. {told} Please report it."
        )
    if found.held is None:
        return (
            f"TOO FEW REPETITIONS TO TELL: none of {len(bounds)} bounds is seen to be above the "
            f"truth more often than it states, but hardly any would be. {told}"
        )
    twice = sum(row.first is not None for row in bounds)
    measured = f", {twice} of them measured twice" if twice else ""
    return (
        f"EVERY BOUND HELD: each of {len(bounds)} is above the truth no more often than it states, "
        f"in {level} of audits, within the interval of its rate{measured}. {told}"
    )


def _told(found: Calibration) -> str:
    would = (
        "No rate of false alarms"
        if found.detectable_rate == 1
        else f"A bound that is wrong in {at_most(100 * found.detectable_rate, 1)} % of audits"
    )
    return (
        f"{would} would have been found with {percent(results.POWER)}; that any is blamed though "
        f"none is wrong has a chance of at most {at_most(100 * found.by_chance, 1)} %."
    )
