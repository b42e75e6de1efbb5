"""How often bounds are wrong, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from dpaudit.calibration.calibrate import BY_CHANCE, SURE, Calibrated, Calibration
from dpaudit.report.formats import nearest, percent, power
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
    for _, rows in groupby(found.rows, key=lambda row: row.mechanism):
        blocks.append(_table(list(rows), widths))
    blocks += [wrap(reading(found), WIDTH), wrap(verdict(found), WIDTH)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _asked(found: Calibration) -> list[str]:
    s = found.setting
    return [
        *labelled("Played", [f"{s.repetitions:,} audits, {s.trials:,} trials a world each"], WIDTH),
        *labelled("Asked", [f"delta {power(s.delta)}, {percent(s.confidence)} confidence"], WIDTH),
        *labelled("Allowed", [f"false alarms in {percent(_level(found))} of audits"], WIDTH),
    ]


def _level(found: Calibration) -> float:
    return round(found.setting.level, 9)


# ---------------------------------------------------------------- the table


def _table(rows: Sequence[Calibrated], widths: Sequence[int]) -> list[str]:
    first = rows[0]
    lines = [f"{first.mechanism}, epsilon {nearest(first.epsilon)}"]
    lines += [_line([title[i] for title in TITLES], widths) for i in (0, 1)]
    lines.append("-" * (2 + sum(widths) + 2 * (len(widths) - 1)))
    for standing, heading in HEADINGS.items():
        below = [_cells(row) for row in rows if row.standing == standing]
        if below and standing != "bound":
            lines.append(f"  ({heading})")
        lines += [_line(cells, widths) for cells in below]
    return lines


def _cells(row: Calibrated) -> list[str]:
    low, high = row.interval
    return [
        row.attack,
        row.judged,
        f"{100 * row.rate:.1f} %",
        f"{100 * low:.1f} … {100 * high:.1f}",
        nearest(row.mean),
        NOTHING if row.share is None else f"{100 * row.share:.0f} %",
    ]


def _widths(rows: Sequence[Calibrated]) -> list[int]:
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
        "A false alarm is a number above the true epsilon at this delta. Its rate is measured, "
        f"and has an interval of its own ({percent(SURE)}, two-sided). The mean is that over all "
        "audits; a bound that could not show more with so few trials is no worse for it. 'picked' "
        "is what decides a run. A 'best cut' is the threshold that shows most on the trials that "
        "are judged, a 'best count' the number of guesses that does. Bounds under an "
        "accountant's curve are rounded down to a table of curves, which changes no alarm."
    )


def verdict(found: Calibration) -> str:
    """Whether every bound kept its word."""
    bounds, level = found.bounds, percent(_level(found))
    if broken := found.broken:
        named = "; ".join(
            f"{row.attack} by {row.judged} on {row.mechanism}, {100 * row.rate:.1f} %"
            for row in broken
        )
        return (
            f"NOT EVERY BOUND HELD: {len(broken)} of {len(bounds)} are above the truth more often "
            f"than in {level} of audits, beyond chance: {named}. Please report it."
        )
    above = sum(row.interval[0] > found.setting.level for row in bounds)
    beside = (
        "and each interval reaches down to it or below"
        if not above
        else f"although {above} of the intervals {'lies' if above == 1 else 'lie'} above it, as "
        "some of so many do by chance"
    )
    return (
        f"EVERY BOUND HELD: none of {len(bounds)} is above the truth in more than {level} of "
        f"audits beyond chance (all at once, {percent(1 - BY_CHANCE)}), {beside}."
    )
