"""What a report says where a trial is what one user reports, and no model is trained."""

from __future__ import annotations

from dpaudit.types import Claim

GAME = (
    "One user reported again and again, in half of the trials with one value and in half with "
    "another, the canary. Attacks then guess from what was reported which value it was: the better "
    "they guess, the more a report gives away about one user. Epsilon measures this leak: 0 is "
    "none, more is worse."
)

CANARY = "The record whose class stands for the user's value; no model was trained on it"


def reported(claim: Claim) -> bool:
    """Whether trials are reports of one user."""
    return claim.trials in ("reports", "users")
