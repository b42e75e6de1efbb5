"""What a report says where a trial is no model that was trained for it, but something released."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.types import Claim


@dataclass(frozen=True)
class Words:
    """How such trials are told."""

    game: str
    made: str
    canary: str


_REPORTS = Words(
    game="One user reported again and again, in half of the trials with one value and in half with "
    "another, the canary. Attacks then guess from what was reported which value it was: the better "
    "they guess, the more a report gives away about one user. Epsilon measures this leak: 0 is "
    "none, more is worse.",
    made="given",
    canary="The record whose class stands for the user's value; no model was trained on it",
)

_RELEASES = Words(
    game="The same was released again and again, each time with new noise, in half of the trials "
    "from data in which the canary takes the place of one record. Attacks then guess from what was "
    "released whether it had the canary: the better they guess, the more a release gives away "
    "about one record. Epsilon measures this leak: 0 is none, more is worse.",
    made="made",
    canary="The record that takes the place of one of the pool",
)

WORDS = {"reports": _REPORTS, "users": _REPORTS, "releases": _RELEASES}
"""By what the trials of a claim are called."""


def words(claim: Claim) -> Words | None:
    """How its trials are told; None where they are models, or steps of one."""
    return WORDS.get(claim.trials)
