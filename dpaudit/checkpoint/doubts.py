"""What speaks against a bound: no coins, scores that say nothing, references that know them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import binom

from dpaudit.checkpoint.candidates import Candidates
from dpaudit.checkpoint.outputs import Outputs
from dpaudit.checkpoint.risk import auc, auc_interval, split
from dpaudit.errors import BadInput
from dpaudit.types import Array

CHANCE = 1e-6
"""With which a reference that knows nothing of the coins is taken for one that does."""


def doubted(candidates: Candidates, scores: Array) -> Iterator[str]:
    """What a reader should know of the records and of their scores."""
    n, inn = len(candidates.put_in), int(candidates.put_in.sum())
    if not candidates.fair:
        yield (
            f"{inn:,} of {n:,} records are members, which fair coins hardly ever give: no bound is "
            "computed"
        )
    elif candidates.coins != "kit" and 2 * inn == n:
        chance = 100 * float(binom.pmf(inn, n, 0.5))
        yield (
            f"exactly half of the {n:,} records are members, which fair coins give in {chance:.2g} "
            "% of splits; a split into two halves is no coin for each record, and its numbers are "
            "no bounds"
        )
    if candidates.shared:
        yield (
            f"{candidates.shared:,} records are among the members and among the others, too, which "
            "no score can tell apart"
        )
    same = len(scores) - len(np.unique(scores))
    if same > len(scores) // 10:
        yield (
            f"{same:,} of {len(scores):,} records have the score of another one; of equal scores "
            "the order decides who is guessed"
        )


def knowing(
    candidates: Candidates, target: Outputs, references: Sequence[tuple[str, Outputs]]
) -> Iterator[str]:
    """Refuse reference models that give the coins away: those would be guessed from them.

    One that was trained without the canaries, or on all of them, says nothing of which were in.
    Where nobody says that coins were tossed, that it does is told.
    """
    for name, reference in references:
        if np.array_equal(reference.log_odds, target.log_odds):
            said = f"{name} says what the model itself says; a reference is another model"
            raise BadInput(said, "same-model", option="reference", value=name)
        scores = split(reference.log_odds, candidates.put_in)
        u, n = auc(scores), min(len(scores.out), len(scores.inn))
        low, high = auc_interval(u, n, 1 - CHANCE)
        if low <= 0.5 <= high:
            continue
        if candidates.coins == "supposed":
            yield (
                f"{name} tells members from others by itself (AUC {u:.3f}): it was trained on some "
                "of them, or no fair coin chose them"
            )
            continue
        raise BadInput(
            f"{name} knows which records were in (AUC {u:.3f}), so that it was trained on them, or "
            "no fair coin chose them; a reference is trained without them",
            "reference-knows",
            option="reference",
            value=name,
        )
