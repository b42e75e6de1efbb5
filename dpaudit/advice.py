"""What a reader of a verdict can do next."""

from __future__ import annotations

import math
from collections.abc import Collection

from scipy.special import expit

from dpaudit.types import Bound, Claim


def next_steps(claim: Claim, bound: Bound, canary: str, attacks: Collection[str]) -> list[str]:
    """What a reader can do now; `attacks` are those that had a part in the judgement."""
    steps = []
    if bound.epsilon > claim.epsilon:
        steps.append(
            "Look for what breaks the claim: per-sample clipping, the noise's scale, the sampling "
            "that the accountant assumes, the number of steps."
        )
    elif bound.ceiling < claim.epsilon:
        takes = "more (--models)"
        if bound.estimator == "clopper-pearson":
            needed = models_needed(claim.epsilon, claim.delta, bound.confidence)
            takes = "more than can be trained" if needed is None else f"about {needed:,} (--models)"
        steps.append(
            f"Nothing above {bound.ceiling:.2f} can be shown with these models; a ceiling above "
            f"{claim.epsilon:.2f} takes {takes}."
        )
    else:
        steps.append(
            "Try another canary or more models (--canary, --models) before you rely on it."
        )
    if canary != "none":
        steps.append("See what selection alone gives: the same line with --canary none.")
    other = "'mean & inv_std'" if "mean+std" in attacks else "NAME"
    steps.append(
        f"Judge again without training: dpaudit report RUN --attack {other}. Another attack that "
        "decides is another look, held to a higher confidence."
    )
    return steps


def models_needed(epsilon: float, delta: float, confidence: float) -> int | None:
    """The least number of models, to two digits, whose judging half has a ceiling above epsilon.

    For Clopper-Pearson, half of the models choosing the rule. No error in n trials leaves a rate
    of U = 1 - (a/2)^(1/n), and ln((1-d-U)/U) is above epsilon iff U < (1-d)/(1+e^epsilon). None
    above some 10^13 models, which nobody trains.
    """
    rate = (1 - delta) * float(expit(-epsilon))
    if rate < 1e-12:
        return None
    n = math.floor(math.log((1 - confidence) / 2) / math.log1p(-rate)) + 1
    tens: int = 10 ** max(0, len(str(4 * n)) - 2)
    return -(-4 * n // tens) * tens
