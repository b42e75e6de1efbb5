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
    """One attack with its bound, its published estimate, or both.

    `note` says what the bound is by, where the rows differ in that.
    """

    attack: str
    bound: Bound | None
    published: Published | None
    deciding: bool = False
    note: str = ""


def rows(report: Report) -> list[Row]:
    """The bounds in their order, then attacks that have a published estimate alone."""
    published = {p.attack: p for p in report.published}
    mixed = len({bound.estimator for bound in report.bounds}) > 1
    found = []
    for i, bound in enumerate(report.bounds):
        note = f"{bound.estimator}, {ASSUMPTIONS[bound.assumption]}" if mixed else ""
        # An attack with two bounds has one published estimate: it is shown once.
        estimate = published.pop(bound.attack, None)
        found.append(Row(bound.attack, bound, estimate, deciding=i == report.primary, note=note))
    return found + [Row(name, None, p) for name, p in published.items()]


def head(report: Report) -> list[tuple[str, str]]:
    """The titles of the columns of numbers, in two lines each."""
    return [*PUBLISHED, *CERTIFIED] if report.published else CERTIFIED


def cells(row: Row, report: Report, digits: int) -> list[str]:
    """The numbers of a row, one for each title."""
    return [
        *(published_cells(row.published) if report.published else []),
        *certified_cells(row.bound, digits),
    ]


def table(report: Report, width: int, digits: int) -> Iterator[tuple[str, bool]]:
    """Lines of the table, each with whether it belongs to the row that decides."""
    found, titles = rows(report), head(report)
    numbers = [cells(row, report, digits) for row in found]
    columns = zip(titles, *numbers, strict=True)
    widths = [max(map(len, (*top, *below))) for top, *below in columns]
    longest = max(len(text) for row in found for text in ("attack", row.attack, f"  {row.note}"))
    name = min(longest, width - 2 - sum(2 + w for w in widths))
    for label, words in zip(("", "attack"), zip(*titles, strict=True), strict=True):
        yield _line("  ", label.ljust(name), words, widths).rstrip(), False
    yield "-" * (2 + name + sum(2 + w for w in widths)), False
    for row, shown in zip(found, numbers, strict=True):
        first, *more = textwrap.wrap(printable(row.attack), name) or [NOTHING]
        more += textwrap.wrap(
            printable(row.note), name, initial_indent="  ", subsequent_indent="  "
        )
        yield (
            _line("> " if row.deciding else "  ", first.ljust(name), shown, widths),
            row.deciding,
        )
        for line in more:
            yield f"  {line}", row.deciding


def _line(mark: str, name: str, texts: list[str] | tuple[str, ...], widths: list[int]) -> str:
    numbers = (text.rjust(w) for text, w in zip(texts, widths, strict=True))
    return mark + "  ".join([name, *numbers])


def certified_cells(bound: Bound | None, digits: int = 2) -> list[str]:
    """A bound, rounded down, and its ceiling."""
    if bound is None:
        return [NOTHING, NOTHING]
    ceiling = "no limit" if math.isinf(bound.ceiling) else nearest(bound.ceiling, digits)
    return [at_least(bound.epsilon, digits), ceiling]


def published_cells(published: Published | None) -> list[str]:
    """A published estimate with its spread, and its null."""
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
