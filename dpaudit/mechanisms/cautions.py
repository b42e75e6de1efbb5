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
