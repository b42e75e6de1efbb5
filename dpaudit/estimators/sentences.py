"""Shares as text."""

from __future__ import annotations

import math

from dpaudit.accounting.curves import DPSGD, DPSGDSteps, Family
from dpaudit.results import Assumption, Bound


def percent(x: float) -> str:
    """A share such as a confidence: 95 %, 97.5 %; what is not all is never 100 %."""
    digits = next((d for d in range(6, 17) if x >= 1 or float(f"{100 * x:.{d}g}") < 100), 17)
    return f"{100 * x:.{digits}g} %"


# ----------------------------------------------------------------
# A bound in plain words: what was shown, how surely, assuming what.


NOTHING_TO_CHOOSE = "nothing to choose"
"""The selection of a bound on what was fixed before the trials."""

RULE = "independent trials and a decision rule that was fixed without them"
"""What every bound on counted decisions stands on."""

SCORE = "independent trials and a score that was fixed without them"
"""What every bound on the order of the scores stands on."""

APART = "pairs of trials in the order in which they were run, both independent given earlier ones"

PAIRS = f"{APART}, and a score that was fixed beforehand"
"""What a bound on scores in pairs stands on."""

COINS = "canaries that a fair coin each put in, and a number of guesses that was fixed beforehand"
"""What every bound from one run stands on."""

COINS_SEVERAL = (
    "canaries that a fair coin each put in, and numbers of guesses that were fixed beforehand"
)
"""The same where the best of several numbers was taken, and paid for."""

ASSUMED: dict[Assumption, str] = {
    "none": "nothing of the mechanism, only",
    "gaussian": "a mechanism whose trade-off curve is Gaussian,",
    "accountant": "a mechanism whose trade-off curve is the accountant's,",
    "prior": "a prior,",
}
"""What is assumed of the mechanism; what of the trials follows it."""

_NEIGHBOURS = {"add-remove": "added or removed", "replace": "replaced"}


def of_curve(curves: Family) -> str:
    """What is assumed of the mechanism by a family of curves."""
    if isinstance(curves, DPSGDSteps):
        return (
            f"DP-SGD of which single steps were scored, with its sampling rate of "
            f"{curves.sample_rate:g}, its {curves.rounds:,} steps and their composition taken as "
            f"claimed, neighbours by one record {_NEIGHBOURS[curves.adjacency]},"
        )
    if not isinstance(curves, DPSGD):
        return ASSUMED[curves.assumption]
    return (
        f"DP-SGD that samples each record at a rate of {curves.sample_rate:g} in "
        f"{curves.rounds:,} steps, which is taken on trust, neighbours by one record "
        f"{_NEIGHBOURS[curves.adjacency]},"
    )


def confident(confidence: float) -> str:
    """How surely, of a bound that errs so rarely whatever the truth is."""
    return f"At {percent(confidence)} confidence"


def credible(confidence: float) -> str:
    """How surely, of a bound that weighs what is possible by a prior."""
    return f"With a posterior probability of {percent(confidence)}"


def sentence(how_surely: str, epsilon: float, delta: float, assuming: str) -> str:
    """The whole; epsilon is rounded down, so that what is printed was shown."""
    shown = math.floor(1000 * epsilon) / 1000
    what = f"epsilon is at least {shown:.3f}" if shown > 0 else "no leak was shown"
    at = f"{delta:g}".replace("e-0", "e-")
    return f"{how_surely}, {what} at delta {at}, assuming {assuming}."


def of_others(bound: Bound) -> str:
    """For a bound whose estimator brings no sentence of its own."""
    surely = credible if bound.assumption == "prior" else confident
    assuming = f"{ASSUMED[bound.assumption]} trials as {bound.estimator} needs them"
    return sentence(surely(bound.confidence), bound.epsilon, bound.delta, assuming)
