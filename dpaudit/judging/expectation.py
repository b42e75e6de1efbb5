"""Forecasts of a stronger test beside a weak one, and a heuristic limit of what can be found."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from dpaudit import accounting
from dpaudit.accounting.curves import DPSGDFamily, Family, GaussianFamily, family, parameter_of
from dpaudit.accounting.last_iterate import last_iterate_epsilon
from dpaudit.config.adversaries import (
    ADVERSARIES,
    FINAL_WEIGHTS,
    OBSERVER,
    WHITE_BOX,
    WORST_CASE,
)
from dpaudit.estimators.claim_curves import known_curve
from dpaudit.estimators.exact_tests import separation_probability
from dpaudit.estimators.power.prospect import least
from dpaudit.estimators.power.scored import FALSE_POSITIVES, TINY, moments
from dpaudit.judging.advice import round_up
from dpaudit.judging.plan_request import MOST_MODELS
from dpaudit.rates import log_ratio, upper_rate
from dpaudit.results import Expectation
from dpaudit.types import Claim, DPSGDCurve, GaussianCurve

SEE_THE_END = (OBSERVER.name, WORST_CASE.name, FINAL_WEIGHTS.name)
"""Adversaries that see the final model only."""

RATIO, ROWS = 1.3, 24
"""The ratio of the parameters of neighbouring curves in a table, and the most of them."""

FEWEST, MANY = 4, 200
"""The fewest models of an audit by many, and how many are supposed after one by a single model."""

SMALL = ndtr(np.linspace(-12, 0, 600))
"""False-positive rates at which a curve's epsilon is read."""

Decides = Callable[[int], bool]
"""From trials in each world: True if the best outcome refutes the claim."""

Typical = Callable[[int], float]
"""From trials in each world to the typical bound; 0 if the claim itself is out of reach."""


def expectation(
    claim: Claim, confidence: float, attacker: str, models: int, fixed_score: bool = False
) -> Expectation | None:
    """Return the forecast for the strongest adversary, if all of the claim leaks.

    It is about so many models, or about the least number that typically makes a strong test; None
    if no number does. A score that is fixed beforehand leaves all models to judge, as that of the
    strongest adversary does; else one half chooses the rule.
    """
    if claim.by_step or not claim.guarantees:
        return None
    strongest = WHITE_BOX.name if attacker in ADVERSARIES else ""
    each = 2 if strongest or fixed_score else 4
    typical = _of_ranks(claim, confidence) or _of_counts(claim, confidence)
    models = models if models >= FEWEST else MANY
    n = least(lambda n: typical(n) >= claim.epsilon / 2, MOST_MODELS // each, models // each)
    if n is None:
        return None
    number = models if n <= models // each else -(-round_up(each * n) // 4) * 4
    return Expectation(strongest, number, typical(number // each))


def _of_ranks(claim: Claim, confidence: float) -> Typical | None:
    """Return the forecast of the rank test under the claim's curve; None without a curve.

    As `power.Ranked`, with the claim's own curve as the truth and few curves that leak less, for
    a curve of DP-SGD takes a tenth of a second. A curve is typically refuted by n trials if the
    share of pairs won differs by z deviations: the difference and 1/sqrt(n) are proportional.
    """
    curve, decides = known_curve(claim), _ranks_decide(claim, confidence)
    if not isinstance(curve, (GaussianCurve, DPSGDCurve)) or decides is None:
        return None
    curves, a = family(curve, claim.delta, claim.adjacency), 1 - confidence
    parameter = parameter_of(curve, claim.adjacency)
    mean, _ = moments(curves, parameter)
    shown, rarity = [_epsilon(curves, parameter, claim.delta)], [0.0]
    factor = RATIO if isinstance(curves, DPSGDFamily) else 1 / RATIO
    lesser = parameter
    while shown[-1] >= claim.epsilon / 2 and len(shown) < ROWS:
        lesser *= factor
        other, deviation = moments(curves, lesser)
        shown.append(_epsilon(curves, lesser, claim.delta))
        apart_by = (mean - other) / max(-float(ndtri(a)) * deviation, TINY)
        rarity.append(max(apart_by, rarity[-1]))

    def typical(n: int) -> float:
        found = float(np.interp(1 / math.sqrt(n), rarity, shown, right=0.0))
        return min(found, claim.epsilon) if decides(n) else 0.0

    return typical


def _epsilon(curves: Family, parameter: float, delta: float) -> float:
    """Return the epsilon at which the largest 1 - f(x) - e^epsilon x is delta, of a few x."""
    gain = 1 - curves.trade_off(parameter, SMALL) - delta
    usable = gain > 0
    return max(0.0, float(np.log(gain[usable] / SMALL[usable]).max())) if usable.any() else 0.0


def _of_counts(claim: Claim, confidence: float) -> Typical:
    """Return the forecast of counted errors at the best threshold, which assumes nothing.

    A mechanism that states no curve leaks as the Gaussian one of its epsilon: see `PlanRequest`.
    The exact scan shows a little more.
    """
    delta, a = claim.delta, 1 - confidence
    if delta == 0:
        curves, parameter = family("pure", 0.0), claim.epsilon
    else:
        curves, parameter = GaussianFamily(), accounting.gaussian_mu(claim.epsilon, delta)
    missed, decides = (
        curves.trade_off(parameter, FALSE_POSITIVES),
        _counts_decide(claim, confidence),
    )

    def typical(n: int) -> float:
        fpr, fnr = (upper_rate(n * rates, n, a / 2) for rates in (FALSE_POSITIVES, missed))
        if not decides(n):
            return 0.0
        return min(claim.epsilon, max(0.0, float(log_ratio(fpr, fnr, delta).max())))

    return typical


def too_few(claim: Claim, ranked: bool, confidence: float, models: int, each: int) -> str:
    """Warn, before any training, of models that can never decide; empty if they can.

    `each` is the number of models that give one judging trial in each world. With `ranked`, the
    rank test under the claim's curve decides, else counted errors.
    """
    if claim.by_step or not claim.guarantees:
        return ""
    decides = (_ranks_decide(claim, confidence) if ranked else None) or _counts_decide(
        claim, confidence
    )
    n = max(1, models // each)
    if decides(n):
        return ""
    enough = least(decides, MOST_MODELS // each, n)
    limit = f"{models:,} {claim.trials} can never refute an epsilon of {claim.epsilon:.3g}"
    if enough is None:
        return f"{limit}, and no number that can be trained does without a curve"
    number = -(-each * enough // 4) * 4
    return f"{limit}, even if every guess is right; at least {number:,} are needed (--models)"


def _ranks_decide(claim: Claim, confidence: float) -> Decides | None:
    """Return the test of whether n trials in each world can refute a claim's curve by ranks."""
    curve = known_curve(claim)
    if not isinstance(curve, (GaussianCurve, DPSGDCurve)):
        return None
    curves, parameter = (
        family(curve, claim.delta, claim.adjacency),
        parameter_of(curve, claim.adjacency),
    )
    return lambda n: separation_probability(curves, parameter, n, n) <= 1 - confidence


def _counts_decide(claim: Claim, confidence: float) -> Decides:
    """Return the test of whether n trials in each world can refute a claim by counts."""

    def decides(n: int) -> bool:
        most = upper_rate(0, n, (1 - confidence) / 2)
        return bool(log_ratio(most, most, claim.delta) >= claim.epsilon)

    return decides


def last_iterate(claim: Claim, attacker: str) -> float | None:
    """Return the last-iterate heuristic at the claim's delta, for who sees the final model only.

    None for claims that it says nothing about: without the curve of DP-SGD, of steps that all see
    every record, of records that replace each other.
    """
    curve = claim.curve
    sampled_steps = isinstance(curve, DPSGDCurve) and curve.sample_rate < 1
    if attacker not in SEE_THE_END or not sampled_steps or claim.adjacency != "add-remove":
        return None
    assert isinstance(curve, DPSGDCurve)
    return last_iterate_epsilon(curve, claim.delta)
