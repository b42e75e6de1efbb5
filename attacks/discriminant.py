"""A linear score learned from any features: ridge LDA, with a threshold it has not overfitted.

Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman, Regularized
Discriminant Analysis (1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.attacks.search import both_worlds, search
from dpaudit.attacks.statistics import AND
from dpaudit.protocols import Criterion
from dpaudit.rates import rounded
from dpaudit.types import IN, OUT, Array

FOLDS = 5


def learn(name: str, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
    """The rule of an attack of that name: direction and threshold, both from these trials.

    The threshold is chosen on scores of trials that the direction has not seen (cross-fitting),
    because a learned score separates its own training trials too well.
    """
    found = search(_unseen_scores(features, worlds)[:, None], worlds, (AND,), criterion)
    return LearnedRule(name, discriminant(features, worlds), found.thresholds[0])


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

    name: str
    direction: Discriminant
    threshold: float

    def score(self, features: Array) -> Array:
        return self.direction.project(features)

    def decide(self, features: Array) -> Array:
        return self.score(features) > self.threshold

    @property
    def cut(self) -> float:
        return self.threshold

    def __repr__(self) -> str:
        return f"{self.name} > {self.threshold:.6g}"


def discriminant(x: Array, worlds: Array) -> Discriminant:
    """w = (S + r I)^-1 (m1 - m0) on standardised features, scaled to unit spread.

    S = W'W/n is the covariance within the worlds. The ridge r = features / trials is the size of
    the error that S has from so few trials, so it fades as trials come in. With more features
    than trials the same w comes from an n x n system: (m - W'(n r I + W W')^-1 W m) / r.
    """
    trials, width = x.shape
    mean, deviations = x.mean(axis=0), x.std(axis=0)
    scale = np.where(x.min(axis=0) == x.max(axis=0), 1.0, deviations)
    z = (x - mean) / scale
    m0, m1 = z[worlds == OUT].mean(axis=0), z[worlds == IN].mean(axis=0)
    W, m, r = z - np.where((worlds == IN)[:, None], m1, m0), m1 - m0, width / trials
    if width <= trials:
        w = np.linalg.solve(W.T @ W / trials + r * np.eye(width), m)
    else:
        w = (m - W.T @ np.linalg.solve(trials * r * np.eye(trials) + W @ W.T, W @ m)) / r
    spread = np.sqrt(max(0.0, float(w @ m))) or 1.0  # = sqrt(w' (S + r I) w)
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
