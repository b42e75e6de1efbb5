"""Checks of what comes from outside. Each returns the problem as an error, or None.

They raise nothing themselves, so that a user sees every problem at once::

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
    "models": 10**6,
    "samples": 10**5,
    "epochs": 10**5,
    "steps": 10**7,
    "canaries": 10**5,
    "guesses": 10**5,
    "classes": 10**5,
    "workers": 512,
    "repetitions": 10**5,
    "noise_multiplier": 10**6,
    "lr": 10**6,
    "hidden": 10**4,
    "components": 1000,
    "iterations": 10**4,
    "rows": 10**6,
    "reports": 10**6,
    "values": 2000,
    "seed": 2**128 - 1,
}
"""The largest value of a setting, by its name: beyond honest use, and short of filling memory."""

LONGEST = 60
"""Characters, or digits, of a value that are shown."""

MANY = 10**9
"""The largest value of any other number that has no range of its own."""


def refuse(problems: Iterable[DpauditError | None], about: str = "") -> None:
    """Raise one BadInput that lists every problem; do nothing where there is none."""
    found = [problem for problem in problems if problem is not None]
    if not found:
        return
    first = found[0]
    if len(found) == 1:
        if not about:
            raise first
        raise first.with_sentence(f"{about}: {first}")
    numbered = "; ".join(f"({i}) {problem}" for i, problem in enumerate(found, 1))
    said = f"{len(found)} problems: {numbered}"
    raise BadInput(f"{about}: {said}" if about else said, "several-problems", problems=found)


def listed(items: Sequence[object], most: int = 5) -> str:
    """The first few items, and how many more there are: a message stays one line."""
    first = ", ".join(map(str, items[:most]))
    return f"{first} and {len(items) - most} more" if len(items) > most else first


def printable(text: str) -> str:
    """Text without control codes: names come from files and plug-ins, and end in a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


def format_value(value: object) -> str:
    """A value as a message tells it: short, whatever a file holds."""
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) < 10**LONGEST:
            return f"{value:,}"
        return f"a number of about {int(value.bit_length() * math.log10(2)):,} digits"
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # Python writes out no number of more than 4,300 digits
        text = f"a {type(value).__name__} of long numbers"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def of(option: str, problem: BadInput | None) -> BadInput | None:
    """The problem of an option that its sentence calls by other words."""
    if problem is not None:
        problem.option = option
    return problem


def positive(name: str, value: object) -> BadInput | None:
    """For epsilon, learning rate, clip: a finite number above 0 and at most its limit in `MOST`."""
    number = _finite(value)
    if number is None or number <= 0:
        return _wrong("not-positive", name, "a number above 0", value)
    return not_above(name, value)


def in_range(
    name: str, value: object, low: float, high: float, ends: Ends = "[]"
) -> BadInput | None:
    """For delta and dropout ('[)'), confidence ('()'): a number in an interval with such ends."""
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
    """For models, samples, epochs, seed: a whole number from `low` to its limit in `MOST`."""
    return whole(name, value, low)


def whole(name: str, value: object, low: int, most: int | None = None) -> BadInput | None:
    """For trials: a whole number that is neither below `low` nor above `most`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        return _wrong("too-small", name, f"a whole number of at least {low}", value)
    return not_above(name, value, most)


def not_above(name: str, value: Any, most: int | None = None) -> BadInput | None:
    """For a number that is checked elsewhere: it is not above `most`, or its limit in `MOST`."""
    most = MOST.get(name, MANY) if most is None else most
    if isinstance(value, str) or value <= most:
        return None
    return _wrong("too-large", name, f"at most {most:,}", value)


def one_of(name: str, value: object, choices: Iterable[str]) -> BadInput | None:
    """For accountant, init: one of a few words."""
    choices = list(choices)
    if value in choices:
        return None
    return _wrong("unknown-choice", name, f"one of {', '.join(choices)}", value)


def _finite(value: object) -> float | None:
    """The value as a number; None for NaN, infinity and what is no number at all."""
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
