"""The score of a record, larger meaning in: fixed before any coin is looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from dpaudit.checkpoint.outputs import STATISTICS, Outputs, Passes
from dpaudit.errors import BadInput
from dpaudit.rates import rounded
from dpaudit.types import Array

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
        return np.clip(rounded(self.formula(target, references)), -LARGEST, LARGEST)


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
