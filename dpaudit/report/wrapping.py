"""Text in lines of a terminal's width."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from dpaudit.report import formats

NARROWEST, WIDEST = 80, 96
LABEL = 10


def labelled(label: str, texts: Iterable[str], width: int) -> list[str]:
    """Texts beside a label, which stands on the first line alone."""
    lines = [line for text in texts for line in wrap(text, width - LABEL)]
    return [f"{label if i == 0 else '':<{LABEL}}{line}" for i, line in enumerate(lines)]


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """A text, indented and hanging below its first line where it is told to."""
    hanging = f"{indent}  " if indent else ""
    glued = formats.printable(text).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(
        glued,
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_on_hyphens=False,  # names have them
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """A line of a table: a name, numbers to the right, and words."""
    first, *numbers, last = cells
    padded = (cell.rjust(w) for cell, w in zip(numbers, widths[1:-1], strict=True))
    return ("  " + "  ".join([first.ljust(widths[0]), *padded, last])).rstrip()
