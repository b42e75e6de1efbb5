"""Shares as text."""

from __future__ import annotations


def percent(x: float) -> str:
    """A share such as a confidence: 95 %, 97.5 %; what is not all is never 100 %."""
    digits = next((d for d in range(6, 17) if x >= 1 or float(f"{100 * x:.{d}g}") < 100), 17)
    return f"{100 * x:.{digits}g} %"
