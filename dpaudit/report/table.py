"""The table of attacks: one row per attack, three ways to look at its leak."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from dpaudit.report.formats import at_least, nearest, printable
from dpaudit.report.words import ASSUMPTIONS
from dpaudit.types import Bound, Published, Report

NOTHING = "—"
PUBLISHED = [("published", "estimate"), ("same search,", "no leak")]
CERTIFIED = [("certified", "epsilon"), ("", "ceiling")]


@dataclass(frozen=True)
class Row:
    """One attack; `note` says what its bound is by, where the rows differ in that."""

    attack: str
    cells: list[str]
    deciding: bool = False
    note: str = ""


def table(report: Report, width: int, digits: int) -> Iterator[tuple[str, bool]]:
    """Lines of the table, each with whether it belongs to the row that decides."""
    rows = _rows(report, digits)
    head = [*PUBLISHED, *CERTIFIED] if report.published else CERTIFIED
    columns = zip(head, *(row.cells for row in rows), strict=True)
    widths = [max(map(len, (*top, *cells))) for top, *cells in columns]
    longest = max(len(text) for row in rows for text in ("attack", row.attack, f"  {row.note}"))
    name = min(longest, width - 2 - sum(2 + w for w in widths))
    for label, cells in zip(("", "attack"), zip(*head, strict=True), strict=True):
        yield _line("  ", label.ljust(name), cells, widths).rstrip(), False
    yield "-" * (2 + name + sum(2 + w for w in widths)), False
    for row in rows:
        first, *more = textwrap.wrap(printable(row.attack), name) or [NOTHING]
        more += textwrap.wrap(
            printable(row.note), name, initial_indent="  ", subsequent_indent="  "
        )
        yield (
            _line("> " if row.deciding else "  ", first.ljust(name), row.cells, widths),
            row.deciding,
        )
        for line in more:
            yield f"  {line}", row.deciding


def _line(mark: str, name: str, cells: list[str] | tuple[str, ...], widths: list[int]) -> str:
    numbers = (cell.rjust(w) for cell, w in zip(cells, widths, strict=True))
    return mark + "  ".join([name, *numbers])


def _rows(report: Report, digits: int) -> list[Row]:
    """The bounds in their order, then attacks that have a published estimate alone."""
    published = {p.attack: p for p in report.published}
    mixed = len({bound.estimator for bound in report.bounds}) > 1
    rows = []
    for i, bound in enumerate(report.bounds):
        # An attack with two bounds has one published estimate: it is shown once.
        cells = _published(published.pop(bound.attack, None)) if report.published else []
        note = f"{bound.estimator}, {ASSUMPTIONS[bound.assumption]}" if mixed else ""
        cells += _certified(bound, digits)
        rows.append(Row(bound.attack, cells, deciding=i == report.primary, note=note))
    rows += [Row(name, [*_published(p), NOTHING, NOTHING]) for name, p in published.items()]
    return rows


def _certified(bound: Bound, digits: int) -> list[str]:
    ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, digits)
    return [at_least(bound.epsilon, digits), ceiling]


def _published(published: Published | None) -> list[str]:
    if published is None:
        return [NOTHING, NOTHING]
    estimate = _cell(published.epsilon_in_sample)
    if published.chunks > 1:
        # One chunk has no spread; a 0.00 would pretend that it was measured.
        estimate += f" ± {_cell(published.epsilon_in_sample_std)}"
    if published.permutations == 0:
        return [estimate, NOTHING]
    return [estimate, f"{_cell(published.null_mean)} (< {_cell(published.null_q95)})"]


def _cell(x: float) -> str:
    return "inf" if math.isinf(x) else nearest(x)
