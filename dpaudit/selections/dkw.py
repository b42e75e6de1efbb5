"""DKW: a band around the error rates of all thresholds of one score at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators.sentences import ASSUMED, SCORE, confident, sentence
from dpaudit.protocols import Attack
from dpaudit.rates import BoundCriterion, rounded
from dpaudit.selections.fixed import Maker
from dpaudit.selections.hold_out import HoldOut, chooses
from dpaudit.trials import Trials
from dpaudit.types import Array, Bound, Counts, Outcome, Scores


@runtime_checkable
class OnRates(Protocol):
    """An estimator whose formula takes any upper bounds on both rates: Clopper-Pearson, GDP."""

    def bound(self, outcome: Outcome, delta: float) -> Bound: ...

    def best_of(self, u0: Array, u1: Array, delta: float) -> tuple[int, float]:
        """Of upper bounds on many rules' rates: which shows most, and how much."""
        ...


@dataclass(frozen=True)
class DKW:
    """All thresholds of one score at once: U = rate + sqrt(ln(2/a)/(2n)) in each world.

    With n trials the empirical CDF exceeds the true one anywhere by more than e with probability
    exp(-2 n e^2) at most, and so does it fall short of it (Dvoretzky, Kiefer and Wolfowitz 1956;
    with this constant and one-sided, for exp(-2 n e^2) <= 1/2, Massart 1990), for any
    distribution, ties included. A false-negative rate is the CDF of the in-trials at the
    threshold, a false-positive rate 1 - that of the out-trials; both formulas of epsilon,
    ln((1-d-U0)/U1) and its mirror, need upper bounds only, so that one side of the band is
    enough in each world. Each world is given a/2, because either band may fail: exp(-2 n e^2) =
    a/2 gives e = sqrt(ln(2/a)/(2n)), and both hold at once, at all thresholds, with probability
    1 - a at least. So the best threshold, in either direction of the formula, costs nothing
    more; the score's sign is part of the score and not chosen here.

    The formula is that of the estimator, Clopper-Pearson's or GDP's, with the band in place of
    its own bounds on the rates. The score is a single statistic, which is fixed beforehand and
    judged on all trials, or one that the attack learns on the choosing half and that is judged
    on the other. The band does not cover AND/OR of several statistics: those are events of
    several dimensions, and not thresholds of one score.
    """

    def bound(
        self,
        attack: Attack,
        trials: Trials,
        estimator: Maker,
        delta: float,
        confidence: float,
        seed: int = 0,
    ) -> Bound:
        """The bound of the threshold that shows most; nothing here is random."""
        made = estimator(confidence)
        if not isinstance(made, OnRates):
            raise BadInput(
                f"DKW needs an estimator that takes bounds on rates, clopper-pearson or gdp, not "
                f"{type(made).__name__}",
                "unfit-estimator",
                option="estimator",
                value=type(made).__name__,
            )
        name, scores, how = _scored(attack, trials, delta)
        thresholds, fp, fn = errors(scores)
        out, inn = len(scores.out), len(scores.inn)
        a = 1 - confidence
        e0, e1 = width(out, a), width(inn, a)
        u0, u1 = np.minimum(1.0, fp / out + e0), np.minimum(1.0, fn / inn + e1)
        place, epsilon = made.best_of(u0, u1, delta)
        _, ceiling = made.best_of(np.array([min(1.0, e0)]), np.array([min(1.0, e1)]), delta)
        counts = Counts(fp=int(fp[place]), out=out, fn=int(fn[place]), inn=inn)
        pointwise = made.bound(counts, delta)
        return replace(
            pointwise,
            epsilon=epsilon,
            ceiling=ceiling,
            attack=trials.attack,
            rule=f"{name} > {thresholds[place]:.6g}",
            selection=f"DKW band over all thresholds of one score ({how})",
            interval=None,
            sentence=sentence(
                confident(confidence),
                epsilon,
                delta,
                f"{ASSUMED[pointwise.assumption]} {SCORE}",
            ),
        )


def width(n: int, a: float) -> float:
    """sqrt(ln(2/a)/(2n)): how far the band of one world reaches above the rates."""
    return math.sqrt(math.log(2 / a) / (2 * n))


def errors(scores: Scores) -> tuple[Array, Array, Array]:
    """All thresholds, and the false positives and false negatives of 'score > threshold'."""
    thresholds = np.unique(np.concatenate([[-np.inf], scores.out, scores.inn]))
    fp = len(scores.out) - np.searchsorted(np.sort(scores.out), thresholds, side="right")
    fn = np.searchsorted(np.sort(scores.inn), thresholds, side="right")
    return thresholds, fp, fn


def _scored(attack: Attack, trials: Trials, delta: float) -> tuple[str, Scores, str]:
    """The name of the score, its values on trials that had no part in it, how it was fixed."""
    fixed = HoldOut().fix(attack, trials, BoundCriterion(delta), Scores)
    names = getattr(fixed.rule, "names", (trials.attack,))
    _refuse_several(names)
    how = "learned on other trials" if chooses(attack, Scores) else "fixed beforehand"
    return names[0], _usable(fixed.trials.scores(fixed.rule)), how


def _refuse_several(names: object) -> None:
    if isinstance(names, (list, tuple)) and len(names) > 1:
        raise BadInput(
            f"a DKW band covers the thresholds of one score, and a rule on {', '.join(names)} has "
            f"{len(names)}, joined by AND or OR; use hold-out, or a single statistic",
            "several-statistics",
            option="attack",
            value=tuple(names),
        )


def _usable(scores: Scores) -> Scores:
    """Rounded, because the low bits of floating-point noise are not the mechanism's."""
    out, inn = rounded(scores.out), rounded(scores.inn)
    if not len(out) or not len(inn):
        raise BadInput(
            f"a DKW band needs trials of both worlds, not {len(out)} and {len(inn)}",
            "one-world",
            value=(len(out), len(inn)),
        )
    if np.isnan(out).any() or np.isnan(inn).any():
        raise BadInput("a DKW band needs scores that are numbers; some are NaN", "not-finite")
    return Scores(out=out, inn=inn)
