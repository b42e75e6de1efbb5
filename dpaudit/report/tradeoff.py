"""What a claim allows an attack: the region that its rates cannot leave, and where they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.accounting.curves import family, within_reach
from dpaudit.rates import upper_rate
from dpaudit.results import Bound, Scores
from dpaudit.types import Adjacency, Array, Claim, Curve, GaussianCurve, StepsCurve


def most(fpr: Array, claim: Claim) -> Array:
    """The largest true-positive rate that the claim allows at each false-positive rate.

    TPR <= e^eps FPR + delta and 1 - FPR <= e^eps (1 - TPR) + delta (Kairouz, Oh and
    Viswanath 2015).
    """
    x, d = np.asarray(fpr, dtype=float), claim.delta
    if math.isinf(claim.epsilon):
        return np.ones_like(x)
    # Not e^epsilon times x, which overflows; 0 stays 0.
    some = x > 0
    logs = claim.epsilon + np.log(x, out=np.zeros_like(x), where=some)
    steep = np.where(some, np.exp(np.minimum(logs, 0.0)), 0.0) + d
    flat = 1 - math.exp(-claim.epsilon) * (1 - d - x)
    allowed: Array = np.minimum(1.0, np.minimum(steep, flat))
    return allowed


def least(fpr: Array, claim: Claim) -> Array:
    """The smallest true-positive rate: an attack that is turned round is bound as well."""
    lowest: Array = 1 - most(1 - np.asarray(fpr, dtype=float), claim)
    return lowest


def promised(fpr: Array, claim: Claim) -> Array | None:
    """The largest true-positive rate under the claim's curve, where it has one.

    Never more than epsilon and delta allow, which are read off the curve; except of single
    steps, which are sure to see the canary and promise nothing but all together.
    """
    if claim.curve is None or not within_reach(claim.curve):
        return None
    known = family(claim.curve, claim.delta, claim.adjacency)
    curve: Array = 1 - known.trade_off(_parameter(claim.curve, claim.adjacency), fpr)
    return curve


def _parameter(c: Curve, adjacency: Adjacency) -> float:
    """Of a claim's curve within its family."""
    if isinstance(c, GaussianCurve):
        return c.mu
    if isinstance(c, StepsCurve) or c.sample_rate < 1:
        return c.noise_multiplier
    # Steps that all see every record make one Gaussian mechanism; a record that is replaced
    # moves a sum by twice the clip.
    moved = 2 if adjacency == "replace" else 1
    return moved * math.sqrt(c.steps) / c.noise_multiplier


def roc(scores: Scores) -> tuple[Array, Array]:
    """False- and true-positive rates of 'score > t' for every t, from (0, 0) to (1, 1)."""
    cuts = np.unique(np.concatenate([scores.out, scores.inn]))[::-1]
    fpr = 1 - np.searchsorted(np.sort(scores.out), cuts, side="left") / scores.out.size
    tpr = 1 - np.searchsorted(np.sort(scores.inn), cuts, side="left") / scores.inn.size
    return np.concatenate([[0.0], fpr]), np.concatenate([[0.0], tpr])


@dataclass(frozen=True)
class Rectangle:
    """Where a rule's true rates are, with the bound's confidence: FPR <= `fpr`, TPR >= `tpr`."""

    fpr: float
    tpr: float


def rectangle(bound: Bound) -> Rectangle | None:
    """The Clopper-Pearson rectangle whose corner the bound is computed from."""
    c = bound.counts
    if c is None:
        return None
    a = (1 - bound.confidence) / 2
    return Rectangle(float(upper_rate(c.fp, c.out, a)), 1 - float(upper_rate(c.fn, c.inn, a)))
