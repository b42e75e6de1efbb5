"""What a user may have got wrong without noticing."""

from __future__ import annotations


def delta_too_large(delta: float, records: int) -> list[str]:
    """A warning of a delta that makes a claim empty."""
    if delta * records < 1:
        return []
    return [
        f"delta {delta:g} is not below 1/{records}: such a claim would even allow to publish a "
        "whole record now and then"
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
