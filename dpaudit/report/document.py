"""Document model: the blocks that a result consists of, without any layout.

`to_terminal` and `to_html` write them. A module for each kind of result builds its document: a
summary, which comes first, and the details.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, Union

from dpaudit.report.wording import LABELS
from dpaudit.results import Strength

if TYPE_CHECKING:
    from matplotlib import figure


@dataclass(frozen=True)
class Heading:
    """Title of the blocks that follow."""

    text: str


@dataclass(frozen=True)
class Text:
    """Paragraphs, or the items of a list: with a `mark` before each, or indented alone."""

    lines: Sequence[str]
    mark: str | None = None
    strong: bool = False


@dataclass(frozen=True)
class Facts:
    """Labels or terms, each with one or several lines of text; empty ones are left out."""

    entries: Sequence[tuple[str, str | Sequence[str]]]

    @property
    def rows(self) -> list[tuple[str, Sequence[str]]]:
        """The labels that have text, with their lines."""
        rows = ((label, [x] if isinstance(x, str) else x) for label, x in self.entries)
        return [(label, lines) for label, x in rows if (lines := [line for line in x if line])]


@dataclass(frozen=True)
class Conclusion:
    """An outcome, and the sentence that it rests on."""

    outcome: Strength
    sentence: str

    @property
    def label(self) -> str:
        """The outcome, as people read it."""
        return LABELS[self.outcome]

    @property
    def line(self) -> str:
        """Both in one line."""
        return f"{self.label}: {self.sentence}"


@dataclass(frozen=True)
class Bar:
    """Numbers on one scale that begins at 0: of each its name, its rounded text and itself."""

    marks: Sequence[tuple[str, str, float]]

    @property
    def largest(self) -> float:
        """The largest finite number, which fills the scale; 1 if there is none above 0."""
        return max((x for *_, x in self.marks if math.isfinite(x)), default=0.0) or 1.0


@dataclass(frozen=True)
class Column:
    """A column of numbers, or of words, which may be wrapped."""

    title: str
    words: bool = False


def words(*titles: str) -> list[Column]:
    """Return columns of words."""
    return [Column(title, words=True) for title in titles]


@dataclass(frozen=True)
class Row:
    """A cell for each column; a single cell is a heading within the table.

    A marked row stands out: it decides.
    """

    cells: Sequence[str]
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """Columns and rows."""

    columns: Sequence[Column]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Figure:
    """A drawing, the name of its file, its title, what it shows, and its numbers in words."""

    name: str
    title: str
    caption: str
    alt: str
    drawing: figure.Figure


@dataclass(frozen=True)
class Link:
    """A text that leads to another page; a terminal does not show it."""

    text: str
    address: str


Block: TypeAlias = Union[Heading, Text, Facts, Conclusion, Bar, Table, Figure, Link]


@dataclass(frozen=True)
class Document:
    """A summary of at most `LINES` lines in a terminal, and the details, below a title.

    `name` stands in a browser's title bar.
    """

    summary: Sequence[Block]
    details: Sequence[Block] = ()
    title: str = ""
    name: str = "dpaudit"

    @property
    def line(self) -> str:
        """The result in one line: the first one of the summary."""
        first = self.summary[0]
        if isinstance(first, Conclusion):
            return first.line
        return first.lines[0] if isinstance(first, Text) else ""


LINES, COLUMNS = 20, 80
"""The most lines of a summary, on a terminal of so many columns."""
