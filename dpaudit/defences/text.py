"""From a text to a defence: 'quantize:0.01', 'mean-std + quantize:0.01', 'none'."""

from __future__ import annotations

import inspect
import re

from dpaudit import registry
from dpaudit.defences.chain import Chain
from dpaudit.defences.named import Named, Nothing
from dpaudit.errors import BadInput, blamed
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
    taken = list(registry.asked(plugin).values())
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
    with blamed(f"the defence '{text}'", "cannot be made"):
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
