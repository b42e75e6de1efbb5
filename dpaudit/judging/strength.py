"""The strength of a test: how much of the claim the bound that decides certifies."""

from __future__ import annotations

from dpaudit.estimators.claim_curves import promises
from dpaudit.results import Bound, Strength, Verdict
from dpaudit.types import Claim


def strength(claim: Claim, verdict: Verdict, bound: Bound | None, canary_is_null: bool) -> Strength:
    """Return the strength of a judgement; `bound` is the one that decides, if there is one.

    A claim that was not refuted withstood a strong test if at least half of it is certified: the
    same models refute a claim of half as much. A null run plants nothing: it fails if anything is
    certified, and passes if the claim could have been refuted.
    """
    if canary_is_null and bound is not None and bound.epsilon > 0:
        return "null-failed"
    if verdict == "NO_GUARANTEE_CLAIMED":
        return "null-passed" if canary_is_null else "not-claimed"
    if verdict == "VIOLATION":
        return "refuted"
    if verdict == "INCONCLUSIVE" or bound is None or not promises(claim, bound.assumption):
        return "weak"
    if canary_is_null:
        return "null-passed"
    return "strong" if 0 < claim.epsilon / 2 <= bound.epsilon else "weak"
