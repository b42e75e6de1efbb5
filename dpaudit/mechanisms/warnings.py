"""Warnings of settings and pairs that make a claim empty or an audit weak."""

from __future__ import annotations

import math

NO_DROPOUT = "without dropout, MC-dropout statistics show nothing more than the plain output"
ONE_SAMPLE = "with one MC-dropout sample the deviation is 0 and says nothing"


def delta_too_large(delta: float, records: int) -> list[str]:
    """Warn of a delta that makes a claim empty."""
    if delta * records < 1:
        return []
    return [
        f"delta {delta:g} is not below 1/{records}: such a claim would even allow "
        "publishing a whole record now and then"
    ]


def batch_too_large(batch: int, records: int) -> list[str]:
    """Warn of a batch larger than the number of records."""
    if batch <= records:
        return []
    return [
        f"a batch of {batch:,} is more than the {records:,} records: every step takes all of them, "
        "as with --batch full"
    ]


def start_not_learned(loss: float, classes: int) -> list[str]:
    """Warn of crafted initial parameters at which ordinary records still have gradients."""
    if loss < math.log(classes) / 2:
        return []
    return [
        f"the network that the adversary trained beforehand has a mean loss of {loss:.3g} on the "
        f"records ({math.log(classes):.3g} by guessing): their gradients are still large and hide "
        "the canary"
    ]


def gradient_too_small(norm: float, clip: float) -> list[str]:
    """Warn of a canary below the clip norm: clipping does not scale gradients up."""
    if norm >= clip:
        return []
    return [
        f"the canary's gradient at the initial parameters has a norm of {norm:.3g}, below the "
        f"clip norm of {clip:g}: it moves a step less than a record may, so this is not the worst "
        "case; another canary, or a smaller --clip, may show more"
    ]
