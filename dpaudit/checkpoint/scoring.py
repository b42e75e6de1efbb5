"""The score of each record, and the risk: figures that describe a score and bound no epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp, rel_entr
from scipy.stats import rankdata

from dpaudit.checkpoint.predictions import STATISTICS, Outputs, Passes
from dpaudit.errors import BadInput
from dpaudit.rates import round_scores
from dpaudit.results import Scores
from dpaudit.types import Array

AUTO = "auto"
LARGEST = float(np.finfo(float).max)

REFERRING = ("calibrated", "lira", "rmia")
"""Scores that compare a model with reference models."""

IN_PASSES = "; of each model the mean of its passes with dropout"


@dataclass(frozen=True)
class Score:
    """A name, a description, and the formula for a model and its reference models.

    A larger score means in. It is fixed before any coin is read.
    """

    name: str
    words: str
    formula: Callable[[Outputs, Sequence[Outputs]], Array]

    def of(self, target: Outputs, references: Sequence[Outputs]) -> Array:
        """One number a record, rounded: no mechanism is audited for the low bits."""
        option, value, code, refers = "score", self.name, "", self.name in REFERRING
        if refers and not references:
            code, text = "needs-references", "needs reference models; name them (--reference)"
        elif self.name in STATISTICS and not target.statistics:
            code = "needs-passes"
            text = "needs passes with dropout (--samples T), of a network that has dropout"
        elif references and not refers:
            option, code = "reference", "no-effect"
            text = "does not use reference models; take calibrated, lira or rmia, or no --reference"
        elif references and target.passes and not all(r.passes for r in references):
            option, code = "reference", "needs-passes"
            text = "needs passes with dropout of all reference models; leave --samples out"
        if code:
            raise BadInput(f"the score {self.name} {text}", code, option=option, value=value)
        return np.clip(round_scores(self.formula(target, references)), -LARGEST, LARGEST)


def _calibrated(target: Outputs, references: Sequence[Outputs]) -> Array:
    """The log-odds less a line in those of the references, fitted to all canaries, in and out.

    The fit uses no coin. Models that were trained on no canary at all are too sure of them; a
    slope of 1, as in LiRA, then adds more noise than it removes.
    """
    own = _compared(target).log_odds
    others = np.mean([_compared(reference).log_odds for reference in references], axis=0)
    spread = others - others.mean()
    square = float(spread @ spread)
    return np.asarray(own - (float(spread @ own) / square if square > 0 else 0.0) * spread)


def _lira(target: Outputs, references: Sequence[Outputs]) -> Array:
    # One deviation for all canaries would divide all scores alike.
    others = np.mean([_compared(reference).log_odds for reference in references], axis=0)
    return np.asarray(_compared(target).log_odds - others)


def _rmia(target: Outputs, references: Sequence[Outputs]) -> Array:
    others = logsumexp([_compared(reference).log_p for reference in references], axis=0)
    return np.asarray(_compared(target).log_p - others)


def _compared(model: Outputs) -> Outputs | Passes:
    """The outputs that models are compared by: of the passes with dropout, if there are any."""
    return model.passes or model


def _statistic(name: str, target: Outputs, references: Sequence[Outputs]) -> Array:
    return np.asarray(target.statistics[name])


PER_PASS = {
    "mean": "the mean probability of its label",
    "inv_std": "1 over the deviation of its label's probability",
    "min": "the least probability of its label",
    "max": "the largest probability of its label",
}

SCORES = {
    score.name: score
    for score in (
        Score(
            "loss",
            "the log-odds of its label, which rise as its loss falls",
            lambda o, _: o.log_odds,
        ),
        Score(
            "calibrated",
            "the log-odds of its label less what those in the reference models let expect, by a "
            "line fitted to all canaries, whatever their coins (LiRA, offline, with a slope; "
            "Carlini et al. 2022, Watson et al. 2022)",
            _calibrated,
        ),
        Score(
            "lira",
            "the log-odds of its label less their mean in the reference models (LiRA, offline, "
            "with one variance for all canaries; Carlini et al. 2022)",
            _lira,
        ),
        Score(
            "rmia",
            "the probability of its label over its mean in the reference models, as a logarithm "
            "(RMIA, whose order this is; Zarifzadeh, Liu and Shokri 2024)",
            _rmia,
        ),
        *(
            Score(name, f"{words} with dropout", partial(_statistic, name))
            for name, words in PER_PASS.items()
        ),
    )
}


def choose_score(name: str, references: int, samples: bool) -> Score:
    """The score of a name; for 'auto' the one that suits the inputs, whatever their values."""
    if name == AUTO:
        name = "calibrated" if references else "mean" if samples else "loss"
    found = SCORES[name]
    compares_passes = name in REFERRING and samples
    return replace(found, words=found.words + IN_PASSES) if compares_passes else found


RATES = (0.01, 0.001)
"""False-positive rates at which the true-positive rate is reported."""


@dataclass(frozen=True)
class Risk:
    """The AUC with its interval, and the true-positive rate at low false-positive rates.

    A rate is None if there are too few nonmembers for it: a single one is already more.
    """

    auc: float
    interval: tuple[float, float]
    confidence: float
    tpr: Mapping[float, float | None]


def risk(scores: Scores, confidence: float) -> Risk:
    """The risk of one model by its scores."""
    u = auc(scores)
    n = min(len(scores.out), len(scores.inn))
    rates = {fpr: tpr_at(scores, fpr) for fpr in RATES}
    return Risk(u, auc_interval(u, n, confidence), confidence, rates)


def auc(scores: Scores) -> float:
    """The share of pairs in which the member scores above the nonmember, ties counting half."""
    n0, n1 = len(scores.out), len(scores.inn)
    ranks = rankdata(np.concatenate([scores.inn, scores.out]))[:n1]
    return float((ranks.sum() - n1 * (n1 + 1) / 2) / (n0 * n1))


def auc_interval(u: float, n: int, confidence: float) -> tuple[float, float]:
    """Two-sided, for any number of records: all A with n KL(u, A) <= ln(2/a).

    A U-statistic is a mean, over all ways to pair, of means of n = min(n0, n1) independent pairs,
    so that Chernoff's bound for n of them holds for it too (Hoeffding 1963, section 5a). Wider
    than DeLong's interval, which holds for many records only and is empty at an AUC of 1.
    """
    most = math.log(2 / (1 - confidence)) / n

    def end(good: float, bad: float) -> float:
        """Bisect, and round outwards."""
        while abs(good - bad) > 1e-9:
            a = (good + bad) / 2
            inside = float(rel_entr(u, a) + rel_entr(1 - u, 1 - a)) <= most
            good, bad = (a, bad) if inside else (good, a)
        return bad

    return end(u, 0.0), end(u, 1.0)


def tpr_at(scores: Scores, fpr: float) -> float | None:
    """The share of members above a cut that at most a share `fpr` of the nonmembers are above."""
    n0 = len(scores.out)
    allowed = math.floor(n0 * fpr + 1e-9)
    if allowed < 1:
        return None
    cut = np.sort(scores.out)[n0 - allowed - 1] if allowed < n0 else -np.inf
    return float(np.mean(scores.inn > cut))


def nonmembers_needed(fpr: float) -> int:
    """The number of nonmembers that a false-positive rate needs."""
    return math.ceil(1 / fpr - 1e-9)


def split(scores: Array, put_in: Array) -> Scores:
    """The scores of nonmembers and of members."""
    return Scores(out=scores[~put_in], inn=scores[put_in])
