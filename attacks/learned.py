"""A linear score learned from any features: ridge LDA, with a threshold it has not overfitted.

Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman, Regularized
Discriminant Analysis (1989).
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from dpaudit.attacks.classifier import inv_std, max_, mean, min_, minus_loss
from dpaudit.attacks.search import both_worlds, search
from dpaudit.attacks.statistics import AND, require
from dpaudit.errors import BadInput
from dpaudit.protocols import Attack, Criterion, Rule, lacking
from dpaudit.rates import round_scores
from dpaudit.types import IN, OUT, Array, Known, Observations

# ----------------------------------------------------------------
# A linear score learned from any features: ridge LDA, with a threshold it has not overfitted.
#
# Fisher, The Use of Multiple Measurements in Taxonomic Problems (1936); Friedman, Regularized
# Discriminant Analysis (1989).


FOLDS = 5


def learn(name: str, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
    """The rule of an attack of that name: direction and threshold, both from these trials.

    The threshold is chosen on scores of trials that the direction has not seen (cross-fitting),
    because a learned score separates its own training trials too well.
    """
    space = spanned(features)
    found = search(_unseen_scores(space, worlds)[:, None], worlds, (AND,), criterion)
    return LearnedRule(name, space.discriminant(worlds), found.thresholds[0])


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

    A discriminant knows no axes once the features are standardised, so that more features than
    trials may be turned into the space that the trials span: z = coordinates @ axes'.
    """

    coordinates: Array
    axes: Array | None
    mean: Array
    scale: Array

    def discriminant(self, worlds: Array) -> Discriminant:
        """The direction in which the worlds differ most for their spread, among the features."""
        w, middle = direction(self.coordinates, worlds, self.ridge(len(worlds)))
        if self.axes is not None:
            w, middle = self.axes @ w, self.axes @ middle
        return Discriminant(centre=self.mean + self.scale * middle, weights=w / self.scale)

    def ridge(self, trials: int) -> float:
        """r = features / trials: the size of the error of a covariance from so few trials."""
        return len(self.mean) / trials


def spanned(x: Array) -> Space:
    """The space of the features."""
    if x.shape[1] > len(x):
        return _turned(x)
    mean, scale = _standards(x)
    return Space((x - mean) / scale, None, mean, scale)


def _turned(x: Array) -> Space:
    """Many features in few coordinates; those of the array that came last are remembered.

    Permutations ask for the same features hundreds of times, and turning them is all the cost.
    """
    for of, known in _last:
        if of() is x:
            return known
    mean, scale = _standards(x)
    z = (x - mean) / scale
    squares, U = np.linalg.eigh(z @ z.T)
    there = squares > 1e-9 * max(squares[-1], 1e-300)
    s = np.sqrt(squares[there])
    space = Space(U[:, there] * s, z.T @ (U[:, there] / s), mean, scale)
    _last[:] = [(weakref.ref(x), space)]
    return space


def _standards(x: Array) -> tuple[Array, Array]:
    return x.mean(axis=0), np.where(x.min(axis=0) == x.max(axis=0), 1.0, x.std(axis=0))


_last: list[tuple[weakref.ref[Array], Space]] = []


def direction(z: Array, worlds: Array, r: float) -> tuple[Array, Array]:
    """w = (S + r I)^-1 (m1 - m0), scaled to unit spread, and the middle between the worlds.

    S is the covariance within the worlds; the ridge r fades as trials come in.
    """
    m0, m1 = z[worlds == OUT].mean(axis=0), z[worlds == IN].mean(axis=0)
    within = z - np.where((worlds == IN)[:, None], m1, m0)
    S = within.T @ within / len(z)
    w = np.linalg.solve(S + r * np.eye(z.shape[1]), m1 - m0)
    spread = np.sqrt(max(0.0, float(w @ (m1 - m0)))) or 1.0  # = sqrt(w' (S + r I) w)
    return w / spread, (m0 + m1) / 2


def _unseen_scores(space: Space, worlds: Array) -> Array:
    """Each trial's score by a direction that was learned without it.

    The folds go round by order within each world. A world of one trial cannot be left out;
    then the scores are those of the training trials themselves.
    """
    z, folds = space.coordinates, min(FOLDS, *both_worlds(worlds))
    if folds < 2:
        w, middle = direction(z, worlds, space.ridge(len(z)))
        return round_scores((z - middle) @ w)
    fold = np.empty(len(worlds), dtype=int)
    for world in (OUT, IN):
        fold[worlds == world] = np.arange((worlds == world).sum()) % folds
    scores = np.empty(len(worlds))
    for held in (fold == f for f in range(folds)):
        seen = z[~held]
        w, middle = direction(seen, worlds[~held], space.ridge(len(seen)))
        scores[held] = (z[held] - middle) @ w
    return round_scores(scores)


# ----------------------------------------------------------------
# A score learned from everything that a classifier shows of the canary.


SMALLEST = 1e-6
"""Probabilities stay this far from 0 and 1, deviations from 0: about what float32 resolves."""
SPOKEN = ("logits", "probabilities", "mean")
"""What speaks of all classes; the first that is released is taken."""
LARGEST_LOGIT = 100.0
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
                np.clip(minus_loss.compute({"logits": logits}, known), -LARGEST_LOGIT, 0)[:, None],
                np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT),
            ]
        return round_scores(np.nan_to_num(np.concatenate(columns, axis=1)))

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


# ----------------------------------------------------------------
# A score learned from released numbers, whatever they mean.


LARGEST_VALUE = 1e9
"""Released numbers beyond it, and what is no number at all, say no more than that."""


class Released(Attack):
    """A linear score learned from all released values (ridge LDA).

    For mechanisms that release numbers instead of a classifier: a noisy sum, a histogram, a
    vector of weights. It learns, on the choosing half, the direction in which the worlds differ
    most for their spread; one released number is thus compared with one threshold, on the side
    that was learned.
    """

    def __init__(self) -> None:
        self.needs: frozenset[str] = frozenset({"values"})

    def features(self, seen: Observations, known: Known) -> Array:
        """The released values, one row a trial; finite, with fixed bounds."""
        require(self.needs, seen, "released")
        values = np.asarray(seen["values"], dtype=np.float64)
        flat = values.reshape(len(values), -1)
        return round_scores(
            np.clip(np.nan_to_num(flat, nan=LARGEST_VALUE), -LARGEST_VALUE, LARGEST_VALUE)
        )

    def fit(self, features: Array, worlds: Array, criterion: Criterion) -> LearnedRule:
        return learn("released", features, worlds, criterion)

    def __repr__(self) -> str:
        return "released"
