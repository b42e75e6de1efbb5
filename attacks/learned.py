"""Attacks by a learned linear score: ridge LDA, with a threshold that is not overfitted.

Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman, Regularized
Discriminant Analysis (1989).
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logit

from dpaudit.attacks.classifier import inv_std, max_, mean, min_, minus_loss
from dpaudit.attacks.search import both_worlds, search
from dpaudit.attacks.statistics import AND, require
from dpaudit.errors import BadInput
from dpaudit.protocols import Attack, Criterion, Rule, lacking
from dpaudit.rates import round_scores
from dpaudit.types import IN, OUT, Array, Known, Observations

FOLDS = 5

SMALLEST = 1e-6
"""Probabilities are kept this far from 0 and 1, deviations from 0: about what float32 resolves."""

SPOKEN = ("logits", "probabilities", "mean")
"""The observations of all classes; the first that is released is used."""

LARGEST_LOGIT = 100.0
"""The bound of logits, also for those of a diverged model."""

LARGEST_VALUE = 1e9
"""The bound of released numbers, and the value in place of NaN."""


@dataclass(frozen=True, eq=False)
class Discriminant:
    """A linear score of the features: 0 halfway between the worlds, positive towards D'."""

    centre: Array
    weights: Array

    def project(self, x: Array) -> Array:
        """The score of each row of features."""
        return round_scores((x - self.centre) @ self.weights)


@dataclass(frozen=True, eq=False, repr=False)
class LearnedRule(Rule):
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


@dataclass(frozen=True, eq=False)
class Space:
    """Standardised features, in at most as many coordinates as there are trials.

    A discriminant of standardised features does not depend on the axes, so that more features
    than trials may be rotated into the space that the trials span: z = coordinates @ axes'.
    """

    coordinates: Array
    axes: Array | None
    mean: Array
    scale: Array

    def discriminant(self, worlds: Array) -> Discriminant:
        """The direction in which the worlds differ most for their spread, among the features."""
        w, middle = self.direction(self.coordinates, worlds)
        if self.axes is not None:
            w, middle = self.axes @ w, self.axes @ middle
        return Discriminant(centre=self.mean + self.scale * middle, weights=w / self.scale)

    def direction(self, z: Array, worlds: Array) -> tuple[Array, Array]:
        """w = (S + r I)^-1 (m1 - m0), scaled to unit spread, and the middle between the worlds.

        S is the covariance within the worlds. The ridge r = features / trials is the size of the
        error of a covariance from so few trials.
        """
        r = len(self.mean) / len(z)
        m0, m1 = z[worlds == OUT].mean(axis=0), z[worlds == IN].mean(axis=0)
        within = z - np.where((worlds == IN)[:, None], m1, m0)
        S = within.T @ within / len(z)
        w = np.linalg.solve(S + r * np.eye(z.shape[1]), m1 - m0)
        spread = np.sqrt(max(0.0, float(w @ (m1 - m0)))) or 1.0  # = sqrt(w' (S + r I) w)
        return w / spread, (m0 + m1) / 2


_last: list[tuple[weakref.ref[Array], Space]] = []
"""The last array with more features than trials, and its space.

Permutations ask for the same features hundreds of times, and turning them is all the cost.
"""


def spanned(x: Array) -> Space:
    """The space of the features; of many features in few trials, that of the last array is kept."""
    for of, known in _last:
        if of() is x:
            return known
    mean, scale = x.mean(axis=0), np.where(x.min(axis=0) == x.max(axis=0), 1.0, x.std(axis=0))
    z = (x - mean) / scale
    if x.shape[1] <= len(x):
        return Space(z, None, mean, scale)
    squares, U = np.linalg.eigh(z @ z.T)
    there = squares > 1e-9 * max(squares[-1], 1e-300)
    s = np.sqrt(squares[there])
    space = Space(U[:, there] * s, z.T @ (U[:, there] / s), mean, scale)
    _last[:] = [(weakref.ref(x), space)]
    return space


def _unseen_scores(space: Space, worlds: Array) -> Array:
    """Each trial's score by a direction that was learned without it.

    The folds go round by order within each world. A world of one trial cannot be left out;
    then the scores are those of the training trials themselves.
    """
    z, folds = space.coordinates, min(FOLDS, *both_worlds(worlds))
    if folds < 2:
        w, middle = space.direction(z, worlds)
        return round_scores((z - middle) @ w)
    fold = np.empty(len(worlds), dtype=int)
    for world in (OUT, IN):
        fold[worlds == world] = np.arange((worlds == world).sum()) % folds
    scores = np.empty(len(worlds))
    for held in (fold == f for f in range(folds)):
        w, middle = space.direction(z[~held], worlds[~held])
        scores[held] = (z[held] - middle) @ w
    return round_scores(scores)


class DiscriminantAttack(Attack):
    """Learns a rule from its features: direction and threshold, both from the same trials.

    The threshold is chosen on scores of trials that the direction has not seen (cross-fitting),
    because a learned score separates its own training trials too well.
    """

    name: ClassVar[str]

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
        space = spanned(features)
        found = search(_unseen_scores(space, worlds)[:, None], worlds, (AND,), criterion)
        return LearnedRule(self.name, space.discriminant(worlds), found.thresholds[0])

    def __repr__(self) -> str:
        return self.name


class Learned(DiscriminantAttack):
    """A linear score learned from all logits and all MC-dropout statistics (ridge LDA).

    Thresholds on single statistics cut boxes; the best boundary between the worlds is rarely one.
    This attack uses the loss, the logits of all classes and, where they are released, the mean, min
    and max MC-dropout probability of the canary's class on the logit scale and the log standard
    deviation. If a defence withholds the logits, the logarithms of the probabilities, or of their
    mean, replace them. One of these observations is enough. The attack learns the direction in
    which the worlds differ most relative to their spread: Fisher's linear discriminant, with a
    ridge for many classes and few trials.

    The score is learned on the choosing half, the threshold by cross-fitting.

    Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman, Regularized
    Discriminant Analysis (1989).
    """

    name = "learned"
    any_of = frozenset({*SPOKEN, "std"})

    def features(self, seen: Observations, known: Known) -> Array:
        """The features of the score, one row a trial; finite, with fixed bounds."""
        if missing := lacking(self, seen):
            message = f"learned needs {missing} in the observations"
            raise BadInput(message, "missing-observations", value=missing)
        columns = [
            logit(np.clip(s.compute(seen, known), SMALLEST, 1 - SMALLEST))
            for s in (mean, min_, max_)
            if s.needs <= seen.keys()
        ]
        if inv_std.needs <= seen.keys():
            certainty = np.clip(inv_std.compute(seen, known), SMALLEST, 1 / SMALLEST)
            columns.append(-np.log(certainty))
        if (logits := _logits(seen)) is not None:
            loss = minus_loss.compute({"logits": logits}, known)
            columns.append(np.clip(loss, -LARGEST_LOGIT, 0))
            columns.append(np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT))
        return round_scores(np.nan_to_num(np.column_stack(columns)))


def _logits(seen: Observations) -> Array | None:
    """The outputs of all classes on the logit scale; None if none are released.

    A probability that a defence made 0 counts as the smallest: its logarithm of minus infinity
    would be an outlier beside which all other differences vanish.
    """
    for name in SPOKEN:
        if name in seen:
            outputs = np.asarray(seen[name], dtype=np.float64)
            if name != "logits":
                with np.errstate(divide="ignore", invalid="ignore"):
                    outputs = np.log(outputs)
            return np.where(outputs == -np.inf, np.log(SMALLEST), outputs)
    return None


class Released(DiscriminantAttack):
    """A linear score learned from all released values (ridge LDA).

    For mechanisms that release numbers instead of a classifier: a noisy sum, a histogram, a vector
    of weights. It learns, on the choosing half, the direction in which the worlds differ most
    relative to their spread. A single number is compared with a threshold on the learned side.
    """

    name = "released"
    needs = frozenset({"values"})

    def features(self, seen: Observations, known: Known) -> Array:
        """The released values, one row a trial; finite, with fixed bounds."""
        require(self.needs, seen, "released")
        values = np.asarray(seen["values"], dtype=np.float64)
        flat = np.nan_to_num(values.reshape(len(values), -1), nan=LARGEST_VALUE)
        return round_scores(np.clip(flat, -LARGEST_VALUE, LARGEST_VALUE))
