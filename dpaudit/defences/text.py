"""Defences by text: 'quantize:0.01', 'mean-std + quantize:0.01', 'none', 'top-k:1,3,5'."""

from __future__ import annotations

import inspect
import math
import re

from dpaudit import registry
from dpaudit.defences.chain import Chain, NamedDefence, NoDefence
from dpaudit.errors import BadInput, blamed
from dpaudit.protocols import Defence

NONE = "none"

POINTS = 5
"""The number of defences that a range becomes."""

PLUS = re.compile(r"\s*\+\s*(?=[^\W\d])")
"""Between defences: followed by a name. The plus of 1e+3 is followed by a digit."""


def named_defence(given: str | Defence) -> NamedDefence:
    """Return the defence that a text describes, or give an existing one its name."""
    if isinstance(given, str):
        return make(given)
    if isinstance(given, NamedDefence):
        return given
    if not isinstance(given, Defence):
        raise _refused(
            f"{given!r} does not derive from dpaudit.protocols.Defence",
            "not-a-defence",
            type(given).__name__,
        )
    return NamedDefence(NONE if isinstance(given, NoDefence) else str(given), given)


def make(text: str) -> NamedDefence:
    """The defence that 'NAME' or 'NAME:NUMBER' describes, or several from left to right; or 'none'.

    Several are joined by a plus: 'mean-std + quantize:0.01'.
    """
    text = text.strip()
    if text == NONE:
        return NamedDefence(NONE, NoDefence())
    parts = PLUS.split(text)
    if "+" in text and any(not part or part.endswith("+") for part in parts):
        raise _refused(f"a plus in '{text}' has no defence on one side", "malformed", text)
    if len(parts) == 1:
        return NamedDefence(text, _one(text))
    if NONE in parts:
        raise _refused(f"'{NONE}' in '{text}' adds nothing; leave it out", "no-effect", text)
    return NamedDefence(" + ".join(parts), Chain(tuple(_one(part) for part in parts)))


def _one(text: str) -> Defence:
    name, colon, given = text.partition(":")
    plugin = registry.load("defences", name)
    taken = list(registry.asked(plugin).values())
    needed = [p.name for p in taken if p.default is p.empty]
    if needed and not colon:
        message = f"the defence '{name}' needs its {needed[0]}, as {name}:{needed[0].upper()}"
        raise _refused(f"{message}; see dpaudit explain {name}", "needs-number", text)
    if colon and not taken:
        message = f"the defence '{name}' takes no number; name it without ':{given}'"
        raise _refused(message, "takes-no-number", text)
    numbers = [_number(given, text, taken[0])] if colon else []
    with blamed(f"the defence '{text}'", "cannot be made"):
        made: Defence = plugin(*numbers)
    return made


def _number(given: str, text: str, parameter: inspect.Parameter) -> float:
    """The number after the colon; an int if the defence takes whole numbers."""
    try:
        number = float(given)
    except ValueError as error:
        message = f"'{given}' in the defence '{text}' is not a number"
        raise _refused(message, "not-a-number", given) from error
    return int(number) if takes_whole(parameter) and number.is_integer() else number


def takes_whole(parameter: inspect.Parameter) -> bool:
    """Return True if a defence's number must be a whole one: its constructor says int."""
    return parameter.annotation in (int, "int")


def _refused(sentence: str, code: str, value: str) -> BadInput:
    return BadInput(sentence, code, option="defence", value=value)


def sweep(text: str) -> list[str]:
    """Return the defences that a text with several numbers describes, in its order.

    NAME:LOW..HIGH is five numbers with equal ratios, to two digits, and whole if the defence
    takes whole ones; NAME:A,B,C is these three. The rest of a chain stays as it is:
    'mean-std + quantize:0.001..0.1'.
    """
    parts = PLUS.split(text)
    swept = [i for i, part in enumerate(parts) if ".." in part or "," in part]
    if len(swept) != 1:
        message = "needs several numbers in one place, as in quantize:0.001..0.1 or top-k:1,3,5"
        raise _refused(f"'{text}' {message}", "not-a-sweep", text)
    (at,) = swept
    name, _, given = parts[at].partition(":")
    numbers = _range(given, text, name) if ".." in given else given.split(",")
    swept_parts = [f"{name}:{number.strip()}" for number in numbers]
    found = [" + ".join([*parts[:at], part, *parts[at + 1 :]]) for part in swept_parts]
    for defence in found:
        make(defence)  # raises before anything is judged
    return found


def _range(given: str, text: str, name: str) -> list[str]:
    ends = given.split("..")
    try:
        low, high = map(float, ends)
    except ValueError as error:
        message = f"'{given}' in '{text}' is not LOW..HIGH, two numbers"
        raise _refused(message, "malformed", given) from error
    if not 0 < low < high < math.inf:
        message = f"'{given}' in '{text}' must rise from a number above 0 to a larger one"
        raise _refused(message, "out-of-range", given)
    between = [low * (high / low) ** (i / (POINTS - 1)) for i in range(1, POINTS - 1)]
    taken = list(registry.asked(registry.load("defences", name)).values())
    if taken and takes_whole(taken[0]):
        inner = [str(round(x)) for x in between]
    else:
        inner = [f"{float(f'{x:.1e}'):g}" for x in between]
    return list(dict.fromkeys([ends[0].strip(), *inner, ends[1].strip()]))
