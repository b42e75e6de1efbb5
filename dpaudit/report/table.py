"""The table of attacks: one row per attack, three ways to look at its leak."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dpaudit.report.formats import at_least, nearest, printable
from dpaudit.report.words import NOTHING, SLOTS
from dpaudit.results import Bound, Published, Report

PUBLISHED = [("published", "estimate"), ("same search,", "no leak")]


@dataclass(frozen=True)
class Row:
    """One attack with its bounds, by what they stand on, and its published estimate."""

    attack: str
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    published: Published | None = None
    deciding: str = ""
    """The slot of the bound that decides, or was to, if it is here."""


def rows(report: Report) -> list[Row]:
    """The attacks in the order of their bounds, then those with a published estimate alone.

    Of several bounds that stand on the same an attack shows the first, unless another decides;
    `words.deciding_lines` tells the rest.
    """
    published = {p.attack: p for p in report.published}
    filled: dict[str, dict[str, Bound]] = {}
    for bound in report.bounds:
        filled.setdefault(bound.attack, {}).setdefault(SLOTS[bound.assumption], bound)
    decided: dict[str, str] = {}
    for bound in (report.bounds[i] for i in (report.primary, *report.deciders)):
        filled[bound.attack][SLOTS[bound.assumption]] = bound
        decided.setdefault(bound.attack, SLOTS[bound.assumption])
    found = [
        Row(attack, bounds, published.pop(attack, None), decided.get(attack, ""))
        for attack, bounds in filled.items()
    ]
    return found + [Row(name, published=p) for name, p in published.items()]


def slots(bounds: Iterable[Bound]) -> list[str]:
    """What the bounds of a table stand on, in the order of columns."""
    there = {SLOTS[bound.assumption] for bound in bounds}
    return [slot for slot in dict.fromkeys(SLOTS.values()) if slot in there]


def titles(slots: Sequence[str]) -> list[tuple[str, str]]:
    """Of the columns of bounds, in two lines each."""
    if list(slots) == ["outright"]:
        return [("certified", "epsilon"), ("", "ceiling")]
    proof = {"by prior": "credible"}
    return [
        title
        for slot in slots
        for title in ((proof.get(slot, "certified"), slot), ("ceil-", "ing"))
    ]


def head(report: Report) -> list[tuple[str, str]]:
    """The titles of the columns of numbers, in two lines each."""
    return [*(PUBLISHED if report.published else []), *titles(slots(report.bounds))]


def in_one_line(title: tuple[str, str]) -> str:
    """A title where there is room for it."""
    return " ".join(title).strip().replace("- ", "")


def cells(row: Row, report: Report, digits: int) -> list[str]:
    """The numbers of a row, one for each title."""
    numbers = published_cells(row.published) if report.published else []
    for slot in slots(report.bounds):
        numbers += certified_cells(row.bounds.get(slot), digits)
    return numbers


def table(report: Report, width: int, digits: int) -> Iterator[tuple[str, bool]]:
    """Lines of the table, each with whether it belongs to the row that decides."""
    found, titles = rows(report), head(report)
    numbers = [cells(row, report, digits) for row in found]
    columns = zip(titles, *numbers, strict=True)
    widths = [max(map(len, (*top, *below))) for top, *below in columns]
    longest = max(len(text) for row in found for text in ("attack", row.attack))
    name = min(longest, max(8, width - 2 - sum(2 + w for w in widths)))
    for label, words in zip(("", "attack"), zip(*titles, strict=True), strict=True):
        yield _line("  ", label.ljust(name), words, widths).rstrip(), False
    yield "-" * (2 + name + sum(2 + w for w in widths)), False
    for row, shown in zip(found, numbers, strict=True):
        first, *more = textwrap.wrap(printable(row.attack), name) or [NOTHING]
        deciding = bool(row.deciding)
        yield _line("> " if deciding else "  ", first.ljust(name), shown, widths), deciding
        for line in more:
            yield f"  {line}", deciding


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
