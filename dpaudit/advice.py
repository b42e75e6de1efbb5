"""What a reader of a verdict can do next."""

from __future__ import annotations

import math
from collections.abc import Collection

from scipy.special import expit

from dpaudit.types import Bound, Claim


def next_steps(
    claim: Claim, bound: Bound, reach: float, canary: str, attacks: Collection[str]
) -> list[str]:
    """What a reader can do now; `attacks` are those that had a part in the judgement."""
    steps = []
    if bound.epsilon > claim.epsilon:
        steps.append(
            "Look for what breaks the claim: per-sample clipping, the noise's scale, the sampling "
            "that the accountant assumes, the number of steps."
        )
    elif reach < claim.epsilon:
        takes = "more (--models)"
        if bound.estimator in NO_ERROR and reach == bound.ceiling:
            needed = models_needed(claim, bound)
            takes = "more than can be trained" if needed is None else f"about {needed:,} (--models)"
        steps.append(
            f"These models could not have decided above {reach:.2f}; a ceiling above "
            f"{claim.epsilon:.2f} takes {takes}."
        )
    else:
        steps.append(
            "Try another canary or more models (--canary, --models) before you rely on it; with "
            "another --seed, else the models are the same ones again."
        )
    if canary != "none":
        steps.append("See what selection alone gives: the same line with --canary none.")
    other = "'mean & inv_std'" if "mean+std" in attacks else "NAME"
    steps.append(
        f"Judge again without training: dpaudit report RUN --attack {other}. Another attack that "
        "decides is another look, held to a higher confidence."
    )
    return steps


NO_ERROR = {"clopper-pearson": 2, "exact-scan": 1}
"""Into how many parts the error probability, and the judging half, go for a ceiling."""


def models_needed(claim: Claim, bound: Bound) -> int | None:
    """The least number of models, to two digits, that would have a ceiling above the claim.

    Judged as the bound was: on all models, or on those that did not choose its rule. By
    Clopper-Pearson no error in the n trials of a world leaves a rate of U = 1 - (a/2)^(1/n), and
    ln((1-d-U)/U) is above epsilon iff U < (1-d)/(1+e^epsilon); by the exact scan the same holds of
    U = 1 - a^(1/n) for the n trials of both worlds. None above some 10^13 models, which nobody
    trains.
    """
    rate = (1 - claim.delta) * float(expit(-claim.epsilon))
    if rate < 1e-12:
        return None
    parts = NO_ERROR[bound.estimator]
    n = math.floor(math.log((1 - bound.confidence) / parts) / math.log1p(-rate)) + 1
    models = parts * n * (1 if bound.selection == "nothing to choose" else 2)
    tens: int = 10 ** max(0, len(str(models)) - 2)
    return -(-models // tens) * tens
