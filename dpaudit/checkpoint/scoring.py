"""How well a score tells members from others: figures that describe, and bound no epsilon."""

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

RATES = (0.01, 0.001)
"""False-positive rates at which the true-positive rate is told."""


@dataclass(frozen=True)
class Risk:
    """The AUC with its interval, and the true-positive rate at low false-positive rates.

    A rate is None where there are too few others for it: one of them is already more.
    """

    auc: float
    interval: tuple[float, float]
    confidence: float
    tpr: Mapping[float, float | None]


def risk(scores: Scores, confidence: float) -> Risk:
    """The figures of one model."""
    u = auc(scores)
    n = min(len(scores.out), len(scores.inn))
    rates = {fpr: tpr_at(scores, fpr) for fpr in RATES}
    return Risk(u, auc_interval(u, n, confidence), confidence, rates)


def auc(scores: Scores) -> float:
    """How often a member scores above another record, ties counting half."""
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

    def inside(a: float) -> bool:
        return float(rel_entr(u, a) + rel_entr(1 - u, 1 - a)) <= most

    return _edge(inside, u, 0.0), _edge(inside, u, 1.0)


def _edge(inside: Callable[[float], bool], good: float, bad: float) -> float:
    """Where it ends, rounded outwards."""
    while abs(good - bad) > 1e-9:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if inside(middle) else (good, middle)
    return bad


def tpr_at(scores: Scores, fpr: float) -> float | None:
    """The share of members above a cut that no more than so many others are above."""
    n0 = len(scores.out)
    allowed = math.floor(n0 * fpr + 1e-9)
    if allowed < 1:
        return None
    cut = np.sort(scores.out)[n0 - allowed - 1] if allowed < n0 else -np.inf
    return float(np.mean(scores.inn > cut))


def needed(fpr: float) -> int:
    """How many others it takes to tell a rate."""
    return math.ceil(1 / fpr - 1e-9)


def split(scores: Array, put_in: Array) -> Scores:
    """Those of others, and those of members."""
    return Scores(out=scores[~put_in], inn=scores[put_in])


# ----------------------------------------------------------------
# The score of a record, larger meaning in: fixed before any coin is looked at.


AUTO = "auto"
LARGEST = float(np.finfo(float).max)

Formula = Callable[[Outputs, Sequence[Outputs]], Array]


@dataclass(frozen=True)
class Score:
    """A name, what it is in words, and how it is computed from a model and reference models."""

    name: str
    words: str
    formula: Formula

    def of(self, target: Outputs, references: Sequence[Outputs]) -> Array:
        """One number a record, without the low bits that no mechanism is audited for."""
        if self.name in REFERRING and not references:
            raise BadInput(
                f"the score {self.name} needs reference models; name them (--reference)",
                "needs-references",
                option="score",
                value=self.name,
            )
        if self.name in STATISTICS and not target.statistics:
            raise BadInput(
                f"the score {self.name} needs passes with dropout (--samples T), of a network that "
                "has dropout",
                "needs-passes",
                option="score",
                value=self.name,
            )
        if references and self.name not in REFERRING:
            raise BadInput(
                f"the score {self.name} does not use reference models; leave --reference out, or "
                "take --score calibrated, lira or rmia",
                "no-effect",
                option="reference",
                value=self.name,
            )
        if references and target.passes and not all(r.passes for r in references):
            raise BadInput(
                "some reference models have no passes with dropout to compare with; leave "
                "--samples out, or name checkpoints of the same network",
                "needs-passes",
                option="reference",
            )
        return np.clip(round_scores(self.formula(target, references)), -LARGEST, LARGEST)


def _log_odds(target: Outputs, references: Sequence[Outputs]) -> Array:
    return target.log_odds


def _calibrated(target: Outputs, references: Sequence[Outputs]) -> Array:
    """What is left of the log-odds once a line through all canaries, in and out, is taken off.

    No coin has a part in the line. Models that were trained on no canary at all are too sure of
    them; a slope of 1, as LiRA has it, then adds more noise than it takes away.
    """
    own = _said(target).log_odds
    others = np.mean([_said(reference).log_odds for reference in references], axis=0)
    spread = others - others.mean()
    square = float(spread @ spread)
    return np.asarray(own - (float(spread @ own) / square if square > 0 else 0.0) * spread)


def _lira(target: Outputs, references: Sequence[Outputs]) -> Array:
    # One deviation for all canaries would divide all scores alike.
    others = np.mean([_said(reference).log_odds for reference in references], axis=0)
    return np.asarray(_said(target).log_odds - others)


def _rmia(target: Outputs, references: Sequence[Outputs]) -> Array:
    others = logsumexp([_said(reference).log_p for reference in references], axis=0)
    return np.asarray(_said(target).log_p - others)


def _said(model: Outputs) -> Outputs | Passes:
    """What is compared with other models: that of the passes with dropout, where there are any."""
    return model.passes or model


def _passes(name: str, target: Outputs, references: Sequence[Outputs]) -> Array:
    return np.asarray(target.statistics[name])


REFERRING = ("calibrated", "lira", "rmia")

SCORES = {
    score.name: score
    for score in (
        Score("loss", "the log-odds of its label, which rise as its loss falls", _log_odds),
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
        Score("mean", "the mean probability of its label with dropout", partial(_passes, "mean")),
        Score(
            "inv_std",
            "1 over the deviation of its label's probability with dropout",
            partial(_passes, "inv_std"),
        ),
        Score("min", "the least probability of its label with dropout", partial(_passes, "min")),
        Score("max", "the largest probability of its label with dropout", partial(_passes, "max")),
    )
}


IN_PASSES = "; of each model what it says in the mean of its passes with dropout"


def fixed(name: str, references: int, samples: bool) -> Score:
    """The score of a name; of 'auto' what suits what is there, whatever it says."""
    found = _named(name, references, samples)
    if found.name in REFERRING and samples:
        return replace(found, words=found.words + IN_PASSES)
    return found


def _named(name: str, references: int, samples: bool) -> Score:
    if name != AUTO:
        return SCORES[name]
    return SCORES["calibrated" if references else "mean" if samples else "loss"]
