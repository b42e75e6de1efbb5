"""The sentence of a bound: its value, confidence and assumption."""

from __future__ import annotations

import math

from dpaudit.accounting.curves import DPSGDFamily, DPSGDStepsFamily, Family
from dpaudit.results import Assumption, Bound

RULE = "independent trials and a decision rule that was fixed without them"
"""The assumption of every bound on counted decisions."""

SCORE = "independent trials and a score that was fixed without them"
"""The assumption of every bound on the order of the scores."""

APART = "pairs of trials in the order in which they were run, both independent given earlier ones"

PAIRS = f"{APART}, and a score that was fixed beforehand"
"""The assumption of a bound on scores in pairs."""

COINS = "canaries that a fair coin each put in, and a number of guesses that was fixed beforehand"
"""The assumption of every bound from one run."""

COINS_SEVERAL = COINS.replace("a number of guesses that was", "numbers of guesses that were")
"""The same for the best of several numbers, at a corrected level."""

ASSUMED: dict[Assumption, str] = {
    "none": "nothing about the mechanism, only",
    "gaussian": "a mechanism whose trade-off curve is Gaussian,",
    "accountant": "a mechanism whose trade-off curve is the accountant's,",
    "prior": "a prior,",
}
"""Assumptions about the mechanism; those about the trials follow."""

_NEIGHBOURS = {"add-remove": "added or removed", "replace": "replaced"}


def percent(x: float) -> str:
    """Format a share as a percentage; a value below 1 is never shown as 100 %."""
    digits = next((d for d in range(6, 17) if x >= 1 or float(f"{100 * x:.{d}g}") < 100), 17)
    return f"{100 * x:.{digits}g} %"


def of_curve(curves: Family) -> str:
    """Return the assumption of a family of curves about the mechanism."""
    if not isinstance(curves, (DPSGDFamily, DPSGDStepsFamily)):
        return ASSUMED[curves.assumption]
    neighbours = f"neighbours by one record {_NEIGHBOURS[curves.adjacency]},"
    if isinstance(curves, DPSGDStepsFamily):
        return (
            "DP-SGD with scores of single steps, its sampling rate of "
            f"{curves.sample_rate:g}, its {curves.rounds:,} steps and their composition taken as "
            f"claimed, {neighbours}"
        )
    return (
        f"DP-SGD that samples each record at a rate of {curves.sample_rate:g} in "
        f"{curves.rounds:,} steps, as claimed, {neighbours}"
    )


def confident(confidence: float) -> str:
    """Return the opening of a bound with an error rate that holds whatever the truth is."""
    return f"At {percent(confidence)} confidence"


def credible(confidence: float) -> str:
    """Return the opening of a bound under a prior."""
    return f"With a posterior probability of {percent(confidence)}"


def sentence(how_surely: str, epsilon: float, delta: float, assuming: str) -> str:
    """Return the whole sentence; epsilon is rounded down, so that what is printed was shown."""
    shown = math.floor(1000 * epsilon) / 1000
    what = f"epsilon is at least {shown:.3f}" if shown > 0 else "no leak was shown"
    at = f"{delta:g}".replace("e-0", "e-")
    return f"{how_surely}, {what} at delta {at}, assuming {assuming}."


def of_others(bound: Bound) -> str:
    """Return the sentence of a bound whose estimator writes none."""
    surely = credible if bound.assumption == "prior" else confident
    assuming = f"{ASSUMED[bound.assumption]} trials as {bound.estimator} needs them"
    return sentence(surely(bound.confidence), bound.epsilon, bound.delta, assuming)
