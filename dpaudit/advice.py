"""What a reader of a verdict can do next."""

from __future__ import annotations

from collections.abc import Collection

from dpaudit.power import LIMITED, models_needed
from dpaudit.types import Bound, Claim

BREAKS = (
    "Look for what breaks the claim: per-sample clipping, the noise's scale, the sampling "
    "that the accountant assumes, the number of steps."
)


def next_steps(
    claim: Claim, bound: Bound, reach: float, canary: str, attacks: Collection[str] | None
) -> list[str]:
    """What a reader can do now; `attacks` are those that had a part in the judgement.

    None where no other may judge the same models.
    """
    steps = []
    if bound.epsilon > claim.epsilon:
        steps.append(BREAKS)
    elif reach < claim.epsilon:
        takes = "more (--models)"
        if bound.estimator in LIMITED and reach == bound.ceiling:
            needed = models_needed(claim, bound)
            takes = "more than can be trained"
            if needed is not None:
                takes = f"about {about(needed):,} (--models)"
        steps.append(
            f"These models could not have decided above {reach:.2f}; a ceiling above "
            f"{claim.epsilon:.2f} takes {takes}. dpaudit plan tells what others would take."
        )
    else:
        steps.append(
            "Try another canary or more models (--canary, --models) before you rely on it; with "
            "another --seed, else the models are the same ones again."
        )
    if canary != "none":
        steps.append("See what selection alone gives: the same line with --canary none.")
    if attacks is None:
        return steps
    other = "'mean & inv_std'" if "mean+std" in attacks else "NAME"
    steps.append(
        f"Judge again without training: dpaudit report RUN --attack {other}. Another attack that "
        "decides is another look, held to a higher confidence."
    )
    return steps


def after_one_run(claim: Claim, bound: Bound) -> list[str]:
    """The same of one training with many canaries, whose guesses may be judged in one way only."""
    many = "Train many models with one canary (leave --canaries out): that shows more, and longer."
    if bound.epsilon > claim.epsilon:
        return [BREAKS]
    if bound.ceiling < claim.epsilon:
        return [
            f"So many guesses could not have decided above {bound.ceiling:.2f}, the claim is "
            f"{claim.epsilon:.2f}: more canaries may (--canaries), or more guesses on them "
            "(--guesses). dpaudit plan --canaries tells how many.",
            many,
        ]
    return [
        "Try more canaries before you rely on it (--canaries); with another --seed, else the coins "
        "and the noise are the same ones again.",
        many,
    ]


def about(number: int) -> int:
    """A number to two digits, rounded up."""
    tens: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // tens) * tens
