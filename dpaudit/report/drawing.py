"""Shared parts of all figures: colours, type, and the bytes of a drawing.

The same report gives the same bytes, whatever the user's matplotlibrc, clock and machine.
matplotlib is imported on first use, because most commands draw nothing.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpaudit.files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.6
"""Inches; type of 10 points is 17 pixels high on a page of 700, and 9 on a phone."""
SMALL = 9.0
FAR = 5.0
"""A claim so many times beyond all else is pointed to: it would flatten the rest."""

PAPER, INK, MUTED, FAINT = "#ffffff", "#1b1f24", "#59626b", "#d6dade"
OUT, IN, CLAIM = "#0072b2", "#d55e00", "#00795a"
"""Without the canary, with it, and what is promised: told apart by colour-blind readers too."""

DARK = {
    PAPER: "#16191d",
    INK: "#e8eaed",
    MUTED: "#a3abb3",
    FAINT: "#3b424a",
    OUT: "#56b4e9",
    IN: "#f5924e",
    CLAIM: "#3dcc9f",
}
"""Each colour on a dark page."""

SETTINGS: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib
    **dict.fromkeys(("font.size", "axes.titlesize"), 10.0),
    **dict.fromkeys(
        ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"), SMALL
    ),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), PAPER),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), INK),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED),
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # a dollar sign in a plug-in's name is a dollar sign
    "svg.fonttype": "path",
    "svg.hashsalt": "dpaudit",
}


@contextmanager
def style() -> Iterator[None]:
    """Set the look of every figure while it is drawn and while it is written."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        # A name may be in a script that the font lacks: it shows boxes, and the page has it whole.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


@contextmanager
def blank(height: float) -> Iterator[Figure]:
    """Make an empty figure of the common width, and set its look while it is drawn."""
    from matplotlib.figure import Figure

    with style():
        yield Figure(figsize=(WIDTH, height), layout="constrained")


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows 0, 1, … of a figure on the left, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")


def upright(axes: Axes, x: float, text: str, color: str, width: float, ha: str = "center") -> None:
    """Draw a vertical line with its name above."""
    axes.axvline(x, color=color, linewidth=width)
    look: dict[str, Any] = {"ha": ha, "va": "bottom", "transform": axes.get_xaxis_transform()}
    axes.text(x, 1.01, text, color=color, **look)


def claim_line(axes: Axes, claimed: float, text: str, end: float) -> None:
    """Draw the claim as a vertical line, or point to it if it is beyond the end of the axis."""
    if claimed <= end:
        upright(axes, claimed, text, CLAIM, 2)
        return
    place, arrow = "axes fraction", {"arrowstyle": "->", "color": CLAIM}
    look: dict[str, Any] = {"color": CLAIM, "ha": "right", "va": "center", "arrowprops": arrow}
    axes.annotate(f"{text}, far to the right", (1, 1.05), (0.8, 1.05), place, place, **look)


def beside(axes: Axes, y: float, text: str, color: str, offset: float = 4, **look: Any) -> None:
    """Write a text on the right of the axes, where it hides nothing."""
    placed: dict[str, Any] = {"ha": "left", "va": "center", "annotation_clip": False, **look}
    place, points = ("axes fraction", "data"), "offset points"
    axes.annotate(text, (1, y), (offset, 0), place, textcoords=points, color=color, **placed)


def png(figure: Figure) -> bytes:
    """Return the figure as a PNG on white, 1,120 pixels wide."""
    file = io.BytesIO()
    with style():
        figure.savefig(file, format="png", dpi=200, metadata={"Software": None})
    return file.getvalue()


def svg(figure: Figure) -> bytes:
    """Return the figure as an SVG that follows the reader's choice of a light or dark page."""
    file = io.BytesIO()
    with style():
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(file, format="svg", dpi=200, metadata=nothing)
    text = file.getvalue().decode()
    text = re.sub(r"(?<=: )#([0-9a-f]{6})\b", r"var(--c\1, #\1)", text[text.index("<svg") :])
    dark = "".join(f"--c{light[1:]}:{dark};" for light, dark in DARK.items())
    rule = f"<style>@media (prefers-color-scheme: dark) {{svg {{{dark}}}}}</style>"
    return text.replace("<defs>", f"{rule}<defs>", 1).encode()


def dump(figure: Figure, path: Path) -> None:
    """Write the figure as what its name ends in, whole or not at all."""
    write_whole(path, svg(figure) if path.suffix == ".svg" else png(figure))
