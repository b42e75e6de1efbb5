"""A score learned from everything that a classifier shows of the canary."""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from dpaudit.attacks.discriminant import LearnedRule, learn
from dpaudit.attacks.loss import minus_loss
from dpaudit.attacks.mc_dropout import inv_std, max_, mean, min_
from dpaudit.errors import BadInput
from dpaudit.protocols import Attack, Criterion, lacking
from dpaudit.rates import rounded
from dpaudit.types import Array, Known, Observations

SMALLEST = 1e-6
"""Probabilities stay this far from 0 and 1, deviations from 0: about what float32 resolves."""
SPOKEN = ("logits", "probabilities", "mean")
"""What speaks of all classes; the first that is released is taken."""
LARGEST = 100.0
"""Logits beyond it, and those of a diverged model, say no more than that."""


class Learned(Attack):
    """A linear score learned from all logits and all MC-dropout statistics (ridge LDA).

    Thresholds on single statistics cut boxes; the best boundary between the worlds is rarely
    one. This attack takes the loss and the logits of all classes and, where they are released,
    the mean, min and max MC-dropout probability of the canary's class on the logit scale and
    the log standard deviation. Where a defence leaves out the logits, it takes the logarithms of
    the probabilities, or of the mean, in their place; of what is left one thing is enough. It
    learns the direction in which the worlds differ most for their spread: Fisher's linear
    discriminant, with a ridge so that many classes and few trials do no harm.

    Everything is learned on the choosing half. The threshold is chosen on scores of trials
    that the weights have not seen (cross-fitting), because a learned score separates its own
    training trials too well.

    Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman,
    Regularized Discriminant Analysis (1989).
    """

    def __init__(self) -> None:
        self.needs: frozenset[str] = frozenset()
        self.any_of: frozenset[str] = frozenset({*SPOKEN, "std"})

    def features(self, seen: Observations, known: Known) -> Array:
        """What the score is learned from, one row a trial; finite, with fixed bounds."""
        if missing := lacking(self, seen):
            raise BadInput(
                f"learned needs {missing} in the observations",
                "missing-observations",
                value=missing,
            )
        columns = [
            logit(np.clip(s.compute(seen, known), SMALLEST, 1 - SMALLEST))[:, None]
            for s in (mean, min_, max_)
            if s.needs <= seen.keys()
        ]
        if inv_std.needs <= seen.keys():
            surely = np.clip(inv_std.compute(seen, known), 0, 1 / SMALLEST)
            columns.append(-np.log(np.maximum(surely, SMALLEST))[:, None])
        if (logits := _logits(seen)) is not None:
            columns += [
                np.clip(minus_loss.compute({"logits": logits}, known), -LARGEST, 0)[:, None],
                np.clip(logits, -LARGEST, LARGEST),
            ]
        return rounded(np.nan_to_num(np.concatenate(columns, axis=1)))

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
        return learn("learned", features, worlds, criterion)

    def __repr__(self) -> str:
        return "learned"


def _logits(seen: Observations) -> Array | None:
    """What is said of all classes, on the logit scale; None where no class is spoken of.

    A probability that a defence made 0 counts as the smallest: its logarithm of minus infinity
    would be an outlier beside which all other differences vanish.
    """
    for name in SPOKEN:
        if name in seen:
            said = np.asarray(seen[name], dtype=np.float64)
            if name != "logits":
                with np.errstate(divide="ignore", invalid="ignore"):
                    said = np.log(said)
            return np.where(said == -np.inf, np.log(SMALLEST), said)
    return None
