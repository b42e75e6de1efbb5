"""Checks of what comes from outside. Each gives back the problem as a sentence, or None.

They raise nothing themselves, so that a user sees every problem at once::

    refuse([
        positive("epsilon", epsilon),
        in_range("delta", delta, 0, 1, ends="[)"),
        at_least("models", models, 4),
    ])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Literal

from dpaudit.errors import BadInput

Ends = Literal["[]", "[)", "(]", "()"]


def refuse(problems: Iterable[str | None], about: str = "") -> None:
    """Raises one BadInput that lists every problem; does nothing where there is none."""
    found = [problem for problem in problems if problem]
    if not found:
        return
    if len(found) == 1:
        said = found[0]
    else:
        numbered = "; ".join(f"({i}) {problem}" for i, problem in enumerate(found, 1))
        said = f"{len(found)} problems: {numbered}"
    raise BadInput(f"{about}: {said}" if about else said)


def listed(items: Sequence[object], most: int = 5) -> str:
    """The first few items, and how many more there are: a message stays one line."""
    first = ", ".join(map(str, items[:most]))
    return f"{first} and {len(items) - most} more" if len(items) > most else first


def printable(text: str) -> str:
    """Text without control codes: names come from files and plug-ins, and end in a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def positive(name: str, value: object) -> str | None:
    """For epsilon, learning rate, clip: a finite number above 0."""
    number = _finite(value)
    return None if number is not None and number > 0 else _wrong(name, "a number above 0", value)


def in_range(name: str, value: object, low: float, high: float, ends: Ends = "[]") -> str | None:
    """For delta and dropout ('[)'), confidence ('()'): a number in an interval with such ends."""
    number = _finite(value)
    if number is not None:
        above = number >= low if ends[0] == "[" else number > low
        below = number <= high if ends[1] == "]" else number < high
        if above and below:
            return None
    lower = "at least" if ends[0] == "[" else "above"
    upper = "at most" if ends[1] == "]" else "below"
    return _wrong(name, f"{lower} {low} and {upper} {high}", value)


def at_least(name: str, value: object, low: int) -> str | None:
    """For models, samples, batch, epochs, seed: a whole number that is not below `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        return _wrong(name, f"a whole number of at least {low}", value)
    return None


def whole(name: str, value: object, low: int, most: int) -> str | None:
    """For workers and trials: a whole number that is neither below `low` nor above `most`."""
    problem = at_least(name, value, low)
    if problem is None and isinstance(value, Integral) and int(value) > most:
        return f"{name} must be at most {most:,}, not {int(value):,}"
    return problem


def one_of(name: str, value: object, choices: Iterable[str]) -> str | None:
    """For accountant, init: one of a few words."""
    choices = list(choices)
    return None if value in choices else _wrong(name, f"one of {', '.join(choices)}", value)


def _finite(value: object) -> float | None:
    """The value as a number; None for NaN, infinity and what is no number at all."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _wrong(name: str, needed: str, value: object) -> str:
    shown = repr(value) if isinstance(value, str) else str(value)
    return f"{name} must be {needed}, not {shown}"
