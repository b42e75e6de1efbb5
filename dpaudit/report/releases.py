"""What a report says where a trial is a release of numbers, and no model is trained."""

from __future__ import annotations

from dpaudit.types import Claim

GAME = (
    "Numbers were released again and again, in half of the trials from data with the canary and in "
    "half from data with another record in its place. Attacks then guess from what was released "
    "which it was: the better they guess, the more a release gives away about one record. Epsilon "
    "measures this leak: 0 is none, more is worse."
)

CANARY = "The planted record, as the numbers were released from it"


def released(claim: Claim) -> bool:
    """Whether trials are releases of numbers."""
    return claim.trials == "releases"
