"""A bound in plain words: what was shown, how surely, assuming what."""

from __future__ import annotations

import math

RULE = "independent trials and a decision rule that was fixed without them"
"""What every bound on counted decisions stands on."""


def confident(confidence: float) -> str:
    """How surely, of a bound that errs so rarely whatever the truth is."""
    return f"At {100 * confidence:.6g} % confidence"


def credible(confidence: float) -> str:
    """How surely, of a bound that weighs what is possible by a prior."""
    return f"With a posterior probability of {100 * confidence:.6g} %"


def sentence(how_surely: str, epsilon: float, delta: float, assuming: str) -> str:
    """The whole; epsilon is rounded down, so that what is printed was shown."""
    shown = math.floor(1000 * epsilon) / 1000
    what = f"epsilon is at least {shown:.3f}" if shown > 0 else "no leak was shown"
    at = f"{delta:g}".replace("e-0", "e-")
    return f"{how_surely}, {what} at delta {at}, assuming {assuming}."
