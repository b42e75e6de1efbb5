"""From a text to a defence: 'quantize:0.01', 'mean-std + quantize:0.01', 'none'."""

from __future__ import annotations

import inspect
import math
import re

from dpaudit import registry
from dpaudit.defences.chain import Chain, Named, Nothing
from dpaudit.errors import BadInput, wrap_errors
from dpaudit.protocols import Defence

NONE = "none"
PLUS = re.compile(r"\s*\+\s*(?=[^\W\d])")
"""Between defences: followed by a name. The plus of 1e+3 is followed by a digit."""


def named(given: str | Defence) -> Named:
    """The defence that a text describes, or one that was made already."""
    if isinstance(given, str):
        return make(given)
    if isinstance(given, Named):
        return given
    if not isinstance(given, Defence):
        raise BadInput(
            f"{given!r} is no defence: it does not derive from dpaudit.protocols.Defence",
            "not-a-defence",
            option="defence",
            value=type(given).__name__,
        )
    return Named(NONE if isinstance(given, Nothing) else str(given), given)


def make(text: str) -> Named:
    """The defence that 'NAME' or 'NAME:NUMBER' describes, or several from left to right; or 'none'.

    Several are joined by a plus: 'mean-std + quantize:0.01'.
    """
    text = text.strip()
    if text == NONE:
        return Named(NONE, Nothing())
    parts = PLUS.split(text)
    if "+" in text and any(not part or part.endswith("+") for part in parts):
        raise BadInput(
            f"a plus in '{text}' has no defence on one of its sides",
            "malformed",
            option="defence",
            value=text,
        )
    if len(parts) == 1:
        return Named(text, _one(text))
    if NONE in parts:
        raise BadInput(
            f"'{NONE}' in '{text}' adds nothing; leave it out",
            "no-effect",
            option="defence",
            value=text,
        )
    return Named(" + ".join(parts), Chain(tuple(_one(part) for part in parts)))


def _one(text: str) -> Defence:
    name, colon, given = text.partition(":")
    plugin = registry.load("defences", name)
    taken = list(registry.parameters(plugin).values())
    needed = [p.name for p in taken if p.default is p.empty]
    if needed and not colon:
        raise BadInput(
            f"the defence '{name}' needs its {needed[0]}, as {name}:{needed[0].upper()}; "
            f"see dpaudit explain {name}",
            "needs-number",
            option="defence",
            value=text,
        )
    if colon and not taken:
        raise BadInput(
            f"the defence '{name}' takes no number; name it without ':{given}'",
            "takes-no-number",
            option="defence",
            value=text,
        )
    numbers = [_number(given, text, taken[0])] if colon else []
    with wrap_errors(f"the defence '{text}'", "cannot be made"):
        made: Defence = plugin(*numbers)
    return made


def _number(given: str, text: str, parameter: inspect.Parameter) -> float:
    """The number after the colon; a whole one as such, where that is what is taken."""
    try:
        number = float(given)
    except ValueError as error:
        raise BadInput(
            f"'{given}' in the defence '{text}' is not a number",
            "not-a-number",
            option="defence",
            value=given,
        ) from error
    return int(number) if takes_whole(parameter) and number.is_integer() else number


def takes_whole(parameter: inspect.Parameter) -> bool:
    """Whether a defence's number must be a whole one: its constructor says int."""
    return parameter.annotation in (int, "int")


# ----------------------------------------------------------------
# One defence with several numbers: 'quantize:0.001..0.1', 'top-k:1,3,5'.


POINTS = 5
"""How many numbers a range becomes."""


def sweep(text: str) -> list[str]:
    """The defences that a text with several numbers describes, in its order.

    NAME:LOW..HIGH is five numbers with equal ratios, to two digits and whole where the defence
    takes whole ones; NAME:A,B,C is those. The rest of a chain stays as it is:
    'mean-std + quantize:0.001..0.1'.
    """
    parts = PLUS.split(text)
    swept = [i for i, part in enumerate(parts) if ".." in part or "," in part]
    if len(swept) != 1:
        raise BadInput(
            f"'{text}' must have several numbers in one place, as quantize:0.001..0.1 or "
            "top-k:1,3,5 have",
            "not-a-sweep",
            option="defence",
            value=text,
        )
    (at,) = swept
    name, _, given = parts[at].partition(":")
    numbers = _range(given, text, name) if ".." in given else given.split(",")
    found = [
        " + ".join([*parts[:at], f"{name}:{number.strip()}", *parts[at + 1 :]])
        for number in numbers
    ]
    for defence in found:
        make(defence)  # refused, if at all, before anything is done
    return found


def _range(given: str, text: str, name: str) -> list[str]:
    ends = given.split("..")
    try:
        low, high = map(float, ends)
    except ValueError as error:
        raise BadInput(
            f"'{given}' in '{text}' is not LOW..HIGH, two numbers",
            "malformed",
            option="defence",
            value=given,
        ) from error
    if not 0 < low < high < math.inf:
        raise BadInput(
            f"'{given}' in '{text}' must rise from a number above 0 to a larger one",
            "out-of-range",
            option="defence",
            value=given,
        )
    between = [low * (high / low) ** (i / (POINTS - 1)) for i in range(1, POINTS - 1)]
    taken = list(registry.parameters(registry.load("defences", name)).values())
    if taken and takes_whole(taken[0]):
        inner = [str(round(x)) for x in between]
    else:
        inner = [f"{float(f'{x:.1e}'):g}" for x in between]
    return list(dict.fromkeys([ends[0].strip(), *inner, ends[1].strip()]))
