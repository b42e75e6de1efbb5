"""A score learned from everything that MC dropout and one forward pass show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from dpaudit.attacks.loss import minus_loss
from dpaudit.attacks.mc_dropout import deviation, samples
from dpaudit.attacks.search import both_worlds, search
from dpaudit.attacks.statistics import AND, require
from dpaudit.protocols import Criterion
from dpaudit.rates import rounded
from dpaudit.types import IN, OUT, Array, Known, Observations

FOLDS = 5
SMALLEST = 1e-6
"""Probabilities stay this far from 0 and 1, deviations from 0: about what float32 resolves."""
LARGEST = 100.0
"""Logits beyond it, and those of a diverged model, say no more than that."""


class Learned:
    """A linear score learned from all MC-dropout statistics and all logits (ridge LDA).

    Thresholds on single statistics cut boxes; the best boundary between the worlds is rarely
    one. This attack takes the mean, min and max probability of the canary's class on the logit
    scale, the log standard deviation, the loss and the logits of all classes, and learns the
    direction in which the worlds differ most for their spread: Fisher's linear discriminant,
    with a ridge so that many classes and few trials do no harm.

    Everything is learned on the choosing half. The threshold is chosen on scores of trials
    that the weights have not seen (cross-fitting), because a learned score separates its own
    training trials too well.

    Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman,
    Regularized Discriminant Analysis (1989).
    """

    fitted: bool = True

    def __init__(self) -> None:
        self.needs: frozenset[str] = frozenset({"logits", "mc"})

    def features(self, seen: Observations, known: Known) -> Array:
        """What the score is learned from, (trials, 5 + classes); finite, with fixed bounds."""
        require(self.needs, seen, "learned")
        with np.errstate(invalid="ignore"):
            p = samples(seen, known)
            std = deviation(p, axis=1)
        levels = np.stack([p.mean(axis=1), p.min(axis=1), p.max(axis=1)], axis=1)
        columns = (
            logit(np.clip(levels, SMALLEST, 1 - SMALLEST)),
            np.log(np.maximum(std, SMALLEST))[:, None],
            np.clip(minus_loss.compute(seen, known), -LARGEST, 0)[:, None],
            np.clip(np.asarray(seen["logits"], dtype=np.float64), -LARGEST, LARGEST),
        )
        return rounded(np.nan_to_num(np.concatenate(columns, axis=1)))

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
        found = search(_unseen_scores(features, worlds)[:, None], worlds, (AND,), criterion)
        return LearnedRule(discriminant(features, worlds), found.thresholds[0])

    def __repr__(self) -> str:
        return "learned"


@dataclass(frozen=True, eq=False)
class Discriminant:
    """A linear score of the features: 0 halfway between the worlds, positive towards D'."""

    centre: Array
    weights: Array

    def project(self, x: Array) -> Array:
        """The score of each row of features."""
        return rounded((x - self.centre) @ self.weights)


@dataclass(frozen=True, eq=False, repr=False)
class LearnedRule:
    """Says D' where the learned score exceeds a threshold, strictly."""

    direction: Discriminant
    threshold: float

    def score(self, features: Array) -> Array:
        return self.direction.project(features)

    def decide(self, features: Array) -> Array:
        return self.score(features) > self.threshold

    def __repr__(self) -> str:
        return f"learned > {self.threshold:.6g}"


def discriminant(x: Array, worlds: Array) -> Discriminant:
    """w = (S + r I)^-1 (m1 - m0) on standardised features, scaled to unit spread.

    S is the covariance within the worlds. The ridge r = features / trials is the size of the
    error that S has from so few trials, so it fades as trials come in.
    """
    trials, width = x.shape
    mean, deviations = x.mean(axis=0), x.std(axis=0)
    scale = np.where(x.min(axis=0) == x.max(axis=0), 1.0, deviations)
    z = (x - mean) / scale
    m0, m1 = z[worlds == OUT].mean(axis=0), z[worlds == IN].mean(axis=0)
    within = z - np.where((worlds == IN)[:, None], m1, m0)
    S = within.T @ within / trials
    w = np.linalg.solve(S + width / trials * np.eye(width), m1 - m0)
    spread = np.sqrt(w @ (m1 - m0)) or 1.0  # = sqrt(w' (S + r I) w)
    return Discriminant(centre=mean + scale * (m0 + m1) / 2, weights=w / spread / scale)


def _unseen_scores(x: Array, worlds: Array) -> Array:
    """Each trial's score by a discriminant that was learned without it.

    The folds go round by order within each world. A world of one trial cannot be left out;
    then the scores are those of the training trials themselves.
    """
    folds = min(FOLDS, *both_worlds(worlds))
    if folds < 2:
        return discriminant(x, worlds).project(x)
    fold = np.empty(len(worlds), dtype=int)
    for world in (OUT, IN):
        fold[worlds == world] = np.arange((worlds == world).sum()) % folds
    scores = np.empty(len(worlds))
    for held in (fold == f for f in range(folds)):
        scores[held] = discriminant(x[~held], worlds[~held]).project(x[held])
    return scores
