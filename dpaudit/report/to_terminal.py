"""Writer for a terminal: a document in plain lines, with colour only where that is asked for."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from dpaudit.report.document import (
    SOFT_HYPHEN,
    Bar,
    Block,
    Conclusion,
    Document,
    Facts,
    Figure,
    Heading,
    Legend,
    Link,
    Row,
    Table,
    Text,
)
from dpaudit.report.formats import NOTHING, clean

NARROWEST, WIDEST = 79, 96
LABEL = 10
"""The least width of the labels of facts."""
NAME = 8
"""The least width of a column of words."""

BOLD, RESET = "\x1b[1m", "\x1b[0m"
COLORS = {"VIOLATION": "\x1b[1;31m", "NO_VIOLATION_FOUND": "\x1b[1;32m"}
OTHER = "\x1b[1;33m"


def write(document: Document, width: int = NARROWEST, color: bool = False) -> str:
    """Write a document in lines of at most `width` columns; ANSI codes only with `color`.

    Widths below NARROWEST or above WIDEST count as those.
    """
    writer = Writer(min(max(width, NARROWEST), WIDEST), color)
    text = "\n".join(writer.title(document.title))
    for block in document.blocks:
        if lines := list(writer.lines(block)):
            text += "\n".join(lines) + ("\n" if isinstance(block, Heading) else "\n\n")
    return text.rstrip("\n")


def color_wanted() -> bool:
    """Return whether the output is a terminal, and no NO_COLOR forbids colour."""
    return bool(sys.stdout and sys.stdout.isatty() and not os.environ.get("NO_COLOR"))


def wrap(text: str, width: int = NARROWEST, indent: str = "") -> list[str]:
    """Wrap a text; an indented one hangs below its first line."""
    hanging = f"{indent}  " if indent else ""
    lines = textwrap.wrap(
        clean(text),
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_on_hyphens=False,  # names have them
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


class Writer:
    """Lines of a given width for each kind of block."""

    def __init__(self, width: int, color: bool) -> None:
        self.width = width
        self.color = color

    def lines(self, block: Block) -> Iterator[str]:
        """Write one block; figures and links have no place in a terminal."""
        match block:
            case Heading():
                yield block.text
            case Text():
                yield from self._text(block)
            case Facts():
                yield from self._facts(block)
            case Legend():
                yield from [block.title] if block.title else []
                for name, text in block.entries:
                    yield from wrap(f"{name}: {text}", self.width, "  ")
            case Conclusion():
                yield from self._conclusion(block)
            case Bar():
                yield from self._bar(block)
            case Table():
                yield from self._table(block)
            case Figure() | Link():
                pass

    def title(self, text: str) -> list[str]:
        """Write the title of a document, underlined."""
        lines = wrap(f"dpaudit: {text}", self.width) if text else []
        return [*lines, "=" * max(map(len, lines)), ""] if lines else []

    def _bold(self, line: str, strong: bool) -> str:
        return f"{BOLD}{line}{RESET}" if self.color and strong else line

    def _text(self, block: Text) -> Iterator[str]:
        indent = "" if block.mark is None else "  "
        for text in block.lines:
            for line in wrap(f"{block.mark or ''} {text}".strip(), self.width, indent):
                yield self._bold(line, block.strong)

    def _facts(self, block: Facts) -> Iterator[str]:
        wide = max(LABEL, *(len(label) + 2 for label, texts in block.rows if texts), 0)
        for label, texts in block.rows:
            lines = [line for text in texts for line in wrap(text, self.width - wide)]
            for i, line in enumerate(lines):
                yield f"{label if i == 0 else '':<{wide}}{line}"

    def _conclusion(self, block: Conclusion) -> Iterator[str]:
        first, *others = wrap(f"{block.label}: {block.sentence}", self.width)
        if self.color:
            tone = COLORS.get(block.verdict, OTHER)
            first = first.replace(block.label, f"{tone}{block.label}{RESET}", 1)
        yield from [first, *others]
        for note in block.notes:
            yield from wrap(note, self.width)

    def _bar(self, block: Bar) -> Iterator[str]:
        names, texts = (max(len(str(mark[i])) for mark in block.marks) for i in (0, 1))
        largest = max((x for *_, x in block.marks if math.isfinite(x)), default=0.0) or 1.0
        for name, text, x in block.marks:
            share = 1.0 if math.isinf(x) else x / largest
            bar = "#" * math.ceil(share * (self.width - names - texts - 4))
            yield f"{name:<{names}}  {text:>{texts}}  {bar}".rstrip()

    def _table(self, table: Table) -> Iterator[str]:
        titles = [column.title.replace(SOFT_HYPHEN, "-").split("\n") for column in table.columns]
        widths = self._widths(table, titles)
        if table.caption:
            yield from wrap(table.caption, self.width)
        high = max(map(len, titles))
        for i in range(high):
            cells = [t[i - high + len(t)] if i >= high - len(t) else "" for t in titles]
            yield _line("  ", cells, widths, table)
        yield "-" * (2 + sum(widths) + 2 * (len(widths) - 1))
        for row in table.rows:
            for line in self._row(row, widths, table):
                yield self._bold(line, row.strong)

    def _widths(self, table: Table, titles: Sequence[Sequence[str]]) -> list[int]:
        """Fit the columns into the width: the widest column of words is wrapped."""
        whole = [[clean(cell) for cell in row.cells] for row in table.rows if len(row.cells) > 1]
        columns = zip(titles, *whole, strict=True)
        widths = [max(map(len, (*title, *cells))) for title, *cells in columns]
        words = [i for i, column in enumerate(table.columns) if column.words]
        if words and (excess := 2 * len(widths) + sum(widths) - self.width) > 0:
            widest = max(words, key=lambda i: widths[i])
            widths[widest] = max(NAME, widths[widest] - excess)
        return widths

    def _row(self, row: Row, widths: Sequence[int], table: Table) -> Iterator[str]:
        if len(row.cells) == 1:
            (text,) = row.cells
            indent = " " * (len(text) - len(text.lstrip()))
            for line in textwrap.wrap(clean(text).strip(), self.width - len(indent)):
                yield f"{indent}{line}"
            return
        columns = []
        for cell, width, column in zip(row.cells, widths, table.columns, strict=True):
            indent = " " * (len(cell) - len(cell.lstrip()))
            lines = [clean(cell)]
            if column.words:
                lines = textwrap.wrap(
                    clean(cell).strip(),
                    width,
                    initial_indent=indent,
                    subsequent_indent=indent,
                    break_on_hyphens=False,
                )
            columns.append(lines or [NOTHING])
        for i, cells in enumerate(zip_longest(*columns, fillvalue="")):
            yield _line("> " if row.marked and i == 0 else "  ", cells, widths, table)


def _line(mark: str, cells: Sequence[str], widths: Sequence[int], table: Table) -> str:
    padded = (
        cell.ljust(width) if column.words else cell.rjust(width)
        for cell, width, column in zip(cells, widths, table.columns, strict=True)
    )
    return (mark + "  ".join(padded)).replace("\N{NO-BREAK SPACE}", " ").rstrip()
