"""What a user may have got wrong without noticing."""

from __future__ import annotations

import math

NO_DROPOUT = "without dropout, MC-dropout statistics show nothing of their own"
ONE_SAMPLE = "with one MC-dropout sample the deviation is 0 and says nothing"


def delta_too_large(delta: float, records: int) -> list[str]:
    """A warning of a delta that makes a claim empty."""
    if delta * records < 1:
        return []
    return [
        f"delta {delta:g} is not below 1/{records}: such a claim would even allow to publish a "
        "whole record now and then"
    ]


def batch_too_large(batch: int, records: int) -> list[str]:
    """A warning of a batch that there are not enough records for."""
    if batch <= records:
        return []
    return [
        f"a batch of {batch:,} is more than the {records:,} records: every step takes all of them, "
        "as with --batch full"
    ]


def start_not_learned(loss: float, classes: int) -> list[str]:
    """A warning of crafted initial parameters at which ordinary records still have gradients."""
    if loss < math.log(classes) / 2:
        return []
    return [
        f"the network that the adversary trained beforehand has a mean loss of {loss:.3g} on the "
        f"records, where guessing has {math.log(classes):.3g}: they still move it, which hides the "
        "canary"
    ]


def gradient_too_small(norm: float, clip: float) -> list[str]:
    """A warning of a canary that clipping leaves as it is: it cannot scale a gradient up."""
    if norm >= clip:
        return []
    return [
        f"the canary's gradient at the initial parameters has a norm of {norm:.3g}, below the "
        f"clip norm of {clip:g}: it moves a step less than a record may, so that this is not the "
        "worst case; another canary, or a smaller --clip, may show more"
    ]
