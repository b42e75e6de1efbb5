"""Words that all reports share: for verdicts, for claims, and for what a bound assumes."""

from __future__ import annotations

from collections.abc import Iterable

from dpaudit.report.document import Conclusion
from dpaudit.report.formats import at_least, nearest, percent, power, value
from dpaudit.types import Bound, Claim, GaussianCurve, Report, Verdict

VERDICTS = {
    "VIOLATION": "VIOLATION",
    "NO_VIOLATION_FOUND": "NO VIOLATION FOUND",
    "INCONCLUSIVE": "INCONCLUSIVE",
    "NO_GUARANTEE_CLAIMED": "NO GUARANTEE CLAIMED",
}

SLOTS = {"accountant": "by curve", "gaussian": "by curve", "none": "outright", "prior": "by prior"}
"""The column of a bound, by its assumption; in the order of columns."""

ASSUMPTIONS = {
    "none": "assumes nothing about the mechanism",
    "gaussian": "assumes a Gaussian trade-off curve",
    "accountant": "assumes the accountant's curve",
    "prior": "assumes a prior: credible, not certified",
}
STEPS_ASSUME = "assumes that steps like those scored make up a training as claimed"


def conclusion(verdict: Verdict, sentence: str, notes: Iterable[str] = ()) -> Conclusion:
    """Make the block of a verdict; empty notes are left out."""
    return Conclusion(verdict, VERDICTS[verdict], sentence, [note for note in notes if note])


def assumes(bound: Bound, claim: Claim) -> str:
    """Say what a bound assumes."""
    return STEPS_ASSUME if claim.by_step else ASSUMPTIONS[bound.assumption]


def certified(bound: Bound, claim: Claim, digits: int) -> str:
    """Say how much leaks at least; a bound of 0 is no finding."""
    shown, sure = at_least(bound.epsilon, digits), percent(bound.confidence)
    if float(shown) == 0:
        return f"no leak is certified (epsilon at least {shown}, {sure} confidence)"
    assuming = "" if bound.assumption == "none" else f" ({assumes(bound, claim)})"
    return f"with {sure} confidence the leak is at least epsilon {shown}{assuming}"


def digits_needed(report: Report) -> int:
    """Decimals, at least two, at which bound and ceiling print on their own side of the claim."""
    claimed, epsilon = report.claim.epsilon, report.bounds[report.primary].epsilon
    reach = report.reach
    for digits in range(2, 9):
        claim = float(nearest(claimed, digits))
        above = float(at_least(epsilon, digits)) > claim
        below = float(nearest(reach, digits)) < claim
        shown = claim > 0 or claimed == 0
        if shown and (above, below) == (epsilon > claimed, reach < claimed):
            return digits
    return 9


# ---------------------------------------------------------------- the claim


def question(claim: Claim, digits: int) -> str:
    """Return the question that an audit answers."""
    if not claim.guarantees:
        return "how much leaks where no guarantee is claimed?"
    return f"is the leak within the claimed epsilon of {nearest(claim.epsilon, digits)}?"


def claimed_epsilon(claim: Claim, digits: int = 2) -> str:
    """Return the most that may leak."""
    return nearest(claim.epsilon, digits) if claim.guarantees else "no guarantee"


def promise(claim: Claim, digits: int = 2) -> str:
    """Return the most that may leak, with its delta."""
    limit = claimed_epsilon(claim, digits)
    return f"epsilon {limit}, delta {power(claim.delta)}" if claim.guarantees else limit


def claim_lines(claim: Claim, digits: int) -> list[str]:
    """Say what is claimed, by whom, and for which unit."""
    limit, source = f"{promise(claim, digits)}, for: {claim.unit}", f"Source: {claim.source}"
    if not claim.guarantees:
        return [limit, source]
    difference = "adding or removing" if claim.adjacency == "add-remove" else "replacing"
    lines = [
        limit,
        f"It limits how much {difference} one record may change what is released, "
        "up to a slack of delta.",
        source,
    ]
    if isinstance(claim.curve, GaussianCurve):
        lines.append(f"Curve: Gaussian, mu {value(claim.curve.mu)}")
    elif claim.curve is not None:
        scored = ", scored step by step" if claim.by_step else ""
        lines.append(
            f"Curve: DP-SGD{scored}, sample rate {value(claim.curve.sample_rate)}, "
            f"{value(claim.curve.steps)} steps, "
            f"noise multiplier {value(claim.curve.noise_multiplier)}"
        )
    if claim.beside:
        others = ", ".join(f"{name} {nearest(e)}" for name, e in claim.beside.items())
        lines.append(f"Other accountants, for comparison: {others}")
    return lines
