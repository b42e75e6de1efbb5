"""Numbers and free-form values as text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from dpaudit.checks import printable as printable
from dpaudit.estimators.sentences import percent as percent

NOTHING = "—"
"""Stands where a table has no number."""


def clean(text: str) -> str:
    """Replace control codes by spaces, and keep a per-cent sign on the line of its number."""
    return printable(text).replace(" %", "\N{NO-BREAK SPACE}%")


def shorten(text: str, longest: int = 140) -> str:
    """Return a text without control codes in so many characters; an ellipsis ends a cut one.

    140 characters are two lines of facts in a terminal.
    """
    text = " ".join(printable(text).split())
    if len(text) <= longest:
        return text
    begun = text[: longest - 1]
    return (begun.rpartition(" ")[0] or begun) + "…"


def nearest(x: float, digits: int = 2) -> str:
    """Round a number."""
    return _fixed(x, digits, ROUND_HALF_EVEN)


def at_least(x: float, digits: int = 2) -> str:
    """Round down, so that a lower bound stays one when it is printed."""
    return _fixed(x, digits, ROUND_FLOOR)


def at_most(x: float, digits: int = 2) -> str:
    """Round up, as the upper end of an interval is."""
    return _fixed(x, digits, ROUND_CEILING)


def _fixed(x: float, digits: int, rounding: str) -> str:
    if not math.isfinite(x):
        return "—" if math.isnan(x) else "infinity"
    # Through repr, so that 0.29 is 0.29 and not the binary number just below it.
    exact = Decimal(repr(float(x)))
    if exact >= 1_000_000:
        return str(Context(prec=4, rounding=rounding).plus(exact))
    return f"{exact.quantize(Decimal(1).scaleb(-digits), rounding):f}"  # no exponent of 0E-9


def power(x: float) -> str:
    """Write a small number such as delta: 1e-5, not 1e-05."""
    return f"{x:g}".replace("e-0", "e-").replace("e+0", "e+")


def duration(seconds: float) -> str:
    """Write a time: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if not math.isfinite(seconds):
        return "not measured"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def value(x: Any) -> str:
    """Write any value of a free-form field."""
    if isinstance(x, Mapping):
        return ", ".join(f"{str(key).replace('_', ' ')} {value(item)}" for key, item in x.items())
    if x is None or isinstance(x, bool):
        return {None: "none", True: "yes", False: "no"}[x]
    if isinstance(x, str):
        return x
    if hasattr(x, "tolist"):
        return value(x.tolist())
    if isinstance(x, (list, tuple)):
        return " x ".join(value(item) for item in x)
    if isinstance(x, float):
        return f"{x:.4g}" if math.isfinite(x) else nearest(x)
    return f"{x:,}" if isinstance(x, int) else str(x)
