"""Writer for a terminal: a document in plain lines, with colour only where that is asked for."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dpaudit.report.document import (
    COLUMNS,
    LINES,
    Bar,
    Block,
    Conclusion,
    Document,
    Facts,
    Heading,
    Row,
    Table,
    Text,
)
from dpaudit.report.formats import clean, printable, shorten
from dpaudit.results import Strength

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table as Grid

Detail: TypeAlias = Literal["line", "summary", "all"]
"""One line, the summary, or the details with the summary below them."""

NARROWEST, WIDEST = 79, 96
LABEL, LONGEST_LABEL = 8, 26
"""The width of the labels of facts."""
WHERE = "Report"
"""The label of the place of the report, which is never cut."""
NAME = 10
"""The least width of a column of words."""

STYLES: dict[Strength, str] = {
    "refuted": "bold red",
    "strong": "bold green",
    "null-passed": "bold cyan",
    "null-failed": "bold red",
}
"""Styles of outcomes; any other one is yellow, because a weak test shows nothing."""
OTHER = "bold yellow"
GLUE = "\ue000"
"""Stands for a space at which rich must not break a line: it breaks at NO-BREAK SPACE, too."""


def write(
    document: Document, width: int = COLUMNS, color: bool = False, detail: Detail = "all"
) -> str:
    """Write a document in lines of at most `width` columns; ANSI codes only with `color`.

    Widths below NARROWEST or above WIDEST count as those.
    """
    if detail == "line":
        return printable(document.line)
    if detail == "summary":
        return _fitted(document.summary, width, color)
    title = [Text([f"dpaudit: {document.title}"], strong=True)] if document.title else []
    return write_blocks([*title, *document.details, *document.summary], width, color)


def _fitted(blocks: Sequence[Block], width: int, color: bool) -> str:
    """Write a summary in `LINES` lines.

    The last rows of its table give way to their number, and then its facts are cut to one line
    each; the place of the report stays whole.
    """

    def rows(block: Block) -> Block:
        if not isinstance(block, Table):
            return block
        kept = max(1, len(block.rows) - excess - 1)
        more = Row([f"  {len(block.rows) - kept} more: --verbose"])
        return replace(block, rows=[*block.rows[:kept], more]) if block.rows[kept + 1 :] else block

    def facts(block: Block) -> Block:
        if not isinstance(block, Facts):
            return block
        room = width - LABEL - 2
        short = [
            (label, lines if label == WHERE else [shorten(line, room) for line in lines])
            for label, lines in block.rows
        ]
        return Facts(short)

    for cut in (rows, facts):
        text = write_blocks(blocks, width, color)
        excess = text.count("\n") + 1 - LINES
        if excess <= 0:
            return text
        blocks = [cut(block) for block in blocks]
    return write_blocks(blocks, width, color)


def write_blocks(blocks: Iterable[Block], width: int = COLUMNS, color: bool = False) -> str:
    """Write blocks with an empty line between them, but none below a heading."""
    from rich.console import Console

    file, width = io.StringIO(), min(max(width, NARROWEST), WIDEST)
    console = Console(
        file=file,
        width=10 * WIDEST,  # a table that is too wide stays whole
        color_system="standard" if color else None,
        force_terminal=color,
        force_jupyter=False,  # else a notebook shows the lines, and `file` stays empty
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
    )
    gap = False
    for block in blocks:
        if parts := list(_parts(block, width)):
            if gap:
                console.print()
            for part in parts:
                console.print(part, width=width)
            gap = not isinstance(block, Heading)
    lines = file.getvalue().replace(GLUE, " ").splitlines()
    return "\n".join(line.rstrip() for line in lines).rstrip("\n")


def color_wanted() -> bool:
    """Return whether the output is a terminal, and no NO_COLOR forbids colour."""
    return bool(sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))


def _parts(block: Block, width: int) -> Iterator[RenderableType]:
    """Yield what rich prints for one block; figures have no place in a terminal."""
    from rich.text import Text as Styled

    match block:
        case Heading():
            yield Styled(_glued(block.text), "bold")
        case Text(lines, mark, strong):
            style = "bold" if strong else ""
            if mark is None:
                yield from (Styled(_glued(line), style) for line in lines)
            elif lines:
                yield _pairs([mark, line] for line in lines)
        case Facts():
            if rows := block.rows:
                widest = max(len(_glued(label)) for label, _ in rows)
                pairs = (
                    pair
                    for label, (line, *more) in rows
                    for pair in [(label, line), *(("", x) for x in more)]
                )
                yield _pairs(pairs, min(max(widest, LABEL), LONGEST_LABEL))
        case Conclusion():
            label = _glued(block.label), STYLES.get(block.outcome, OTHER)
            yield Styled.assemble(label, _glued(f": {block.sentence}"))
        case Bar():
            yield _bars(block, width)
        case Table():
            yield from _table(block, width)


def _grid(*columns: Mapping[str, Any], gap: int = 2, width: int | None = None) -> Grid:
    """Return a grid without rows; a `width` holds even if it is more than there is."""
    from rich.table import Table as Grid

    grid = Grid.grid(padding=(0, gap, 0, 0))
    grid.width = width
    for column in columns:
        grid.add_column(**column)
    return grid


def _pairs(rows: Iterable[Sequence[str]], first: int | None = None) -> Grid:
    """Return rows of two cells, the first of a fixed width."""
    from rich.text import Text as Styled

    grid = _grid({"width": first}, {"overflow": "fold"}, gap=1 if first is None else 2)
    for row in rows:
        grid.add_row(*(Styled(_glued(cell)) for cell in row))
    return grid


def _bars(block: Bar, width: int) -> Grid:
    marks = [(_glued(name), _glued(text), x) for name, text, x in block.marks]
    widths = max(len(name) for name, *_ in marks), max(len(text) for _, text, _ in marks)
    room = width - sum(widths) - 4
    grid = _grid({}, {"justify": "right"}, {"no_wrap": True})
    for name, text, x in marks:
        grid.add_row(name, text, "#" * math.ceil(min(1.0, x / block.largest) * room))
    return grid


def _table(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield the titles, a rule and the rows; a row of one cell is a heading.

    All parts have the same widths; the widest column of words is wrapped. Numbers are never
    broken, so that a table of many columns may be wider than the terminal.
    """
    from rich.text import Text as Styled

    def lines(vertical: str) -> Grid:
        look = {"overflow": "fold", "vertical": vertical}
        sides = ("left" if column.words else "right" for column in table.columns)
        columns = ({"width": w, "justify": s, **look} for w, s in zip(widths, sides, strict=True))
        return _grid(*columns, width=total)

    titles = [f"  {table.columns[0].title}", *(c.title for c in table.columns[1:])]
    whole = [_cells(row) for row in table.rows if len(row.cells) > 1]
    widths = [
        max(len(line) for text in column for line in text.split("\n"))
        for column in zip(titles, *whole, strict=True)
    ]
    gaps = 2 * (len(widths) - 1)
    words = [i for i, column in enumerate(table.columns) if column.words]
    if words and (excess := gaps + sum(widths) - width) > 0:
        widest = max(words, key=lambda i: widths[i])
        widths[widest] = max(NAME, widths[widest] - excess)
    total = gaps + sum(widths)
    head = lines("bottom")
    head.add_row(*titles)
    yield head
    yield Styled("-" * total, no_wrap=True, overflow="ignore")
    for heading, rows in groupby(table.rows, key=lambda row: len(row.cells) == 1):
        if heading:
            yield from (Styled(_glued(row.cells[0])) for row in rows)
            continue
        body = lines("top")
        for row in rows:
            first, *others = _cells(row)
            # Wrapped lines of a first cell begin where its name does.
            name = _pairs([(first[0], first[2:])])
            body.add_row(name, *others, style="bold" if row.marked else "")
        yield body


def _cells(row: Row) -> list[str]:
    first, *others = map(_glued, row.cells)
    return [f"{'>' if row.marked else ' '} {first}", *others]


def _glued(text: str) -> str:
    """Return a text without control codes, with GLUE before per-cent signs."""
    return clean(text).replace("\N{NO-BREAK SPACE}", GLUE)
