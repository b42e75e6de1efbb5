"""What is claimed, in words that need no paper."""

from __future__ import annotations

from dpaudit.report.formats import nearest, power, value
from dpaudit.types import Claim, GaussianCurve


def question(claim: Claim, digits: int) -> str:
    """What the audit asks."""
    if not claim.guarantees:
        return "how much leaks where no guarantee is claimed?"
    return f"is the leak within the claimed epsilon of {nearest(claim.epsilon, digits)}?"


def promised(claim: Claim, digits: int = 2) -> str:
    """How much may leak, at most."""
    return nearest(claim.epsilon, digits) if claim.guarantees else "no guarantee"


def promise(claim: Claim, digits: int = 2) -> str:
    """The same with the slack that goes with it."""
    limit = promised(claim, digits)
    return f"epsilon {limit}, delta {power(claim.delta)}" if claim.guarantees else limit


def lines(claim: Claim, digits: int) -> list[str]:
    """What is promised, and by whom."""
    told, source = f"{promise(claim, digits)}, for: {claim.unit}", f"Source: {claim.source}"
    if not claim.guarantees:
        return [told, source]
    difference = "adding or removing" if claim.adjacency == "add-remove" else "replacing"
    said = [
        told,
        f"It limits how much {difference} one record may change what is released, "
        "up to a slack of delta.",
        source,
    ]
    if isinstance(claim.curve, GaussianCurve):
        said.append(f"Curve: Gaussian, mu {value(claim.curve.mu)}")
    elif claim.curve is not None:
        scored = ", scored step by step" if claim.by_step else ""
        said.append(
            f"Curve: DP-SGD{scored}, sample rate {value(claim.curve.sample_rate)}, "
            f"{value(claim.curve.steps)} steps, "
            f"noise multiplier {value(claim.curve.noise_multiplier)}"
        )
    if claim.beside:
        others = ", ".join(f"{name} {nearest(e)}" for name, e in claim.beside.items())
        said.append(f"Other accountants, for comparison: {others}")
    return said
