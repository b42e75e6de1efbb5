"""Names of the two worlds: without and with the canary, or two groups that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Worlds:
    """The names of both worlds, as second mentions too, and of what attacks guess."""

    out: str
    inn: str
    then_out: str
    then_inn: str
    guessed: str


PLANTED = Worlds(
    *("without the canary", "with the canary", "without it", "with it"), guessed="had the canary"
)

ALIKE = Worlds(*("of group 2", "of group 1") * 2, guessed="are of which group")

GAME = (
    "Nothing was planted: {units} came in two groups, both from the same records. Attacks then "
    "guess which are of which group, and nothing can tell them. What they seem to find is chance, "
    "and what selection makes of it. Epsilon measures a leak: 0 is none, more is worse."
)

BEYOND = "nothing was planted, so that there was no leak to find"

ASKED = "The record that was asked about; all {units} had it"


def is_null(canary: Mapping[str, Any]) -> bool:
    """Whether nothing was planted: the canary is none."""
    return canary.get("name") == "none"


def worlds(canary: Mapping[str, Any]) -> Worlds:
    """The names that suit a canary."""
    return ALIKE if is_null(canary) else PLANTED
