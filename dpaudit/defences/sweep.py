"""One defence with several numbers: 'quantize:0.001..0.1', 'top-k:1,3,5'."""

from __future__ import annotations

import math

from dpaudit import registry
from dpaudit.defences.text import PLUS, make, takes_whole
from dpaudit.errors import BadInput

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
    taken = list(registry.asked(registry.load("defences", name)).values())
    if taken and takes_whole(taken[0]):
        inner = [str(round(x)) for x in between]
    else:
        inner = [f"{float(f'{x:.1e}'):g}" for x in between]
    return list(dict.fromkeys([ends[0].strip(), *inner, ends[1].strip()]))
