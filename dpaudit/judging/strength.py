"""The strength of a test: how much of the claim the bound that decides certifies."""

from __future__ import annotations

from dpaudit.estimators.claim_curves import promises
from dpaudit.results import Bound, Strength, Verdict
from dpaudit.types import Claim


def strength(claim: Claim, verdict: Verdict, bound: Bound | None, canary_is_null: bool) -> Strength:
    """Return the strength of a judgement; `bound` is the one that decides, if there is one.

    A claim that was not refuted withstood a strong test if at least half of it is certified: the
    same models refute a claim of half as much. A null run plants nothing, and passes if nothing
    is certified.
    """
    if canary_is_null:
        return "null-passed" if bound is None or bound.epsilon == 0 else "null-failed"
    if verdict == "NO_GUARANTEE_CLAIMED":
        return "not-claimed"
    if verdict == "VIOLATION":
        return "refuted"
    if verdict == "INCONCLUSIVE" or bound is None or not promises(claim, bound.assumption):
        return "weak"
    return "strong" if 0 < claim.epsilon / 2 <= bound.epsilon else "weak"
