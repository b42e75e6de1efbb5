"""Checks of input. Each returns the problem as an error, or None, so that all are shown at once::

refuse([
    positive("epsilon", epsilon),
    in_range("delta", delta, 0, 1, ends="[)"),
    at_least("models", models, 4),
])
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal

from dpaudit.errors import BadInput, DpauditError

Ends = Literal["[]", "[)", "(]", "()"]

MOST: Mapping[str, int] = {
    **dict.fromkeys(("components",), 1000),
    **dict.fromkeys(("hidden", "iterations"), 10**4),
    **dict.fromkeys(("samples", "epochs", "canaries", "guesses", "classes", "repetitions"), 10**5),
    **dict.fromkeys(("models", "noise_multiplier", "lr", "rows", "reports"), 10**6),
    **{"steps": 10**7, "workers": 512, "values": 2000, "seed": 2**128 - 1},
}
"""The largest value of a setting, by its name: beyond honest use, and short of filling memory."""

MANY = 10**9
"""The largest value of any other number."""

LONGEST = 60
"""The largest number of characters, or digits, of a value in a message."""


def refuse(problems: Iterable[DpauditError | None], about: str = "") -> None:
    """Raise one error that lists every problem, if there is any."""
    found = [problem for problem in problems if problem is not None]
    start = f"{about}: " if about else ""
    if len(found) == 1:
        raise found[0].with_sentence(f"{start}{found[0]}") if about else found[0]
    if found:
        numbered = "; ".join(f"({i}) {problem}" for i, problem in enumerate(found, 1))
        sentence = f"{start}{len(found)} problems: {numbered}"
        raise BadInput(sentence, "several-problems", problems=found)


def excerpt(items: Sequence[object], most: int = 5) -> str:
    """Return the first few items and the number of the others, for a message of one line."""
    first = ", ".join(map(str, items[:most]))
    return f"{first} and {len(items) - most} more" if len(items) > most else first


def printable(text: str) -> str:
    """Return text without control codes, which names from files and plug-ins may contain."""
    return "".join(c if c.isprintable() else " " for c in text)


def format_value(value: object) -> str:
    """Return a value as short text for a message."""
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) < 10**LONGEST:
            return f"{value:,}"
        return f"a number of about {int(value.bit_length() * math.log10(2)):,} digits"
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python prints no number of more than 4,300 digits
        text = f"a {type(value).__name__} of long numbers"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def of(option: str, problem: BadInput | None) -> BadInput | None:
    """Return the problem as that of an option, which its sentence calls by other words."""
    if problem is not None:
        problem.option = option
    return problem


def positive(name: str, value: object) -> BadInput | None:
    """Check that a number is finite, above 0 and at most its limit in `MOST`."""
    number = _finite(value)
    if number is None or number <= 0:
        return _wrong("not-positive", name, "a number above 0", value)
    return not_above(name, value)


def in_range(
    name: str, value: object, low: float, high: float, ends: Ends = "[]"
) -> BadInput | None:
    """Check that a number is in an interval; `ends` say which of its ends belong to it."""
    number = _finite(value)
    if number is not None:
        above = number >= low if ends[0] == "[" else number > low
        below = number <= high if ends[1] == "]" else number < high
        if above and below:
            return None
    lower = "at least" if ends[0] == "[" else "above"
    upper = "at most" if ends[1] == "]" else "below"
    return _wrong("out-of-range", name, f"{lower} {low} and {upper} {high}", value)


def at_least(name: str, value: object, low: int) -> BadInput | None:
    """Check that a whole number is from `low` to its limit in `MOST`."""
    return whole(name, value, low)


def whole(name: str, value: object, low: int, most: int | None = None) -> BadInput | None:
    """Check that a whole number is neither below `low` nor above `most`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        return _wrong("too-small", name, f"a whole number of at least {low}", value)
    return not_above(name, value, most)


def not_above(name: str, value: Any, most: int | None = None) -> BadInput | None:
    """Check that a number, or a text, is not above `most`, or its limit in `MOST`."""
    most = MOST.get(name, MANY) if most is None else most
    if isinstance(value, str) or value <= most:
        return None
    return _wrong("too-large", name, f"at most {most:,}", value)


def one_of(name: str, value: object, choices: Iterable[str]) -> BadInput | None:
    """Check that a value is one of a few words."""
    choices = list(choices)
    if value in choices:
        return None
    return _wrong("unknown-choice", name, f"one of {', '.join(choices)}", value)


def _finite(value: object) -> float | None:
    """Return the value as a float; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _wrong(code: str, name: str, needed: str, value: object) -> BadInput:
    return BadInput(
        f"{name} must be {needed}, not {format_value(value)}", code, option=name, value=value
    )
