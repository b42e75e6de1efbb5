"""Private learners of several organisations, their aggregate, and the attack on both."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.errors import BadInput
from dpaudit.papers.ensemble.aggregation import Weighting
from dpaudit.papers.ensemble.canary import NeighbouringRows
from dpaudit.papers.ensemble.logistic_regression import (
    PERTURBATIONS,
    ObjectivePerturbation,
    PrivateLearner,
)
from dpaudit.papers.ensemble.unit_rows import Rows, Scaling
from dpaudit.protocols import Mechanism, repr_of
from dpaudit.rates import round_scores
from dpaudit.seeds import generator
from dpaudit.types import About, Array, Claim, Data, Known, Observation, Pair, Trial

DIRECTIONS = 64
"""Number of directions in which an aggregate of signs is queried."""

ADVERSARIES = {
    "learner": "knows all records but one, and sees what their organisation publishes",
    "aggregate": "knows all records but one and the learners of all other organisations, and sees "
    "the aggregate",
    "receiver": "knows all records but one and all learners, and sees the aggregate",
}
"""The adversary of each target."""

DEPLOYMENTS = {
    "learner": "Every organisation that receives the learner sees this. Without the other records "
    "it can show less.",
    "aggregate": "The aggregate alone, without the learners, shows less. --set target=receiver "
    "tests the records that the learners are weighed by.",
    "receiver": "Organisation 0 must keep the aggregate to itself, or it reveals its own records.",
}
"""Consequences for organisations that follow the paper."""

NOTHING_CLAIMED = (
    "Do not publish an aggregate: its receiver's own records are in it without noise. --set "
    "target=aggregate tests the records of the others."
)
BREAKS = (
    "Look for the cause: rows longer than 1, a minimum that is not exact, noise whose "
    "density is not that of its norm, the number of records of one organisation."
)


@dataclass(frozen=True)
class Exchange:
    """The organisations that publish, and their perturbation."""

    organisations: int = 16
    records: int | None = None
    """Of each; as many as there are if left out."""
    lam: float = 0.005
    perturbation: str = "objective"

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.one_of("perturbation", self.perturbation, PERTURBATIONS),
                checks.positive("lam", self.lam),
                checks.at_least("organisations", self.organisations, 2),
                None if self.records is None else checks.at_least("records", self.records, 2),
            ]
        )


class PrivateEnsemble(Mechanism):
    """Private logistic regressions that organisations exchange and aggregate.

    M + 1 organisations have n records each. Number m publishes w_m = argmin (1/n) sum of ln(1 +
    e^(-y w.x)) + (Lambda/2) ||w||^2 + b.w/n, where the density of b is prop. to exp(-(eps'/2)
    ||b||). Number 0 weighs the learners of others by their losses on its own records (mirror
    averaging). Classes become -1 (even) and 1 (odd).

    The claim: every w_m is eps-DP for replacing one of the n records, if no row is longer than 1
    and the minimum is exact. eps' = eps - 2 ln(1 + 1/(4 n Lambda)); the rest pays for the Jacobian.
    If that is not above 0, eps' is eps/2 with more regularisation, so eps' may fall as eps grows.
    The claim holds, with slack: a flipped label shows at most eps'/2 (--canary replaced), a record
    in a `corner` more; more features show less.

    The flaw: only the data of the publishers are protected. target is the adversary's view.
    `learner`: sees a w_m. `aggregate`: sees the aggregate of it and of others, which are fixed; it
    shows no more than w_m. `receiver`: sees an aggregate and attacks the data of number 0, which
    are in it without noise. Nothing is promised about these, and everything leaks (with signs,
    where learners disagree about the record). Organisation 0 must not publish the aggregate.

    organisations: M + 1. records: n; by default as many as there are for each. lam: Lambda.
    perturbation: `objective`, or `output` (noise of sensitivity 2/(n Lambda) on the minimum).
    features: the number of first features that are used; by default all. bound: divisor of all
    rows, known without the data. rows: longer ones are refused (`refuse`) or shortened (`clip`), or
    every row is divided by its norm (`normalise`). intercept: a feature that is always 1. Settings
    of the aggregate: beta, start (0, or the paper's 1), reading (`linear`, `sign`) and average
    (`mirror`, `single`).

    Minami, Sato, Arai and Nakagawa, Aggregating Differentially Private Weak Learners (in Japanese);
    Chaudhuri, Monteleoni and Sarwate, Differentially Private Empirical Risk Minimization (2011).
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "data": "sphere",
        "canary": "corner",
        "attacks": ("learner",),
        "models": 20_000,
    }
    trials_per_call = 500

    def __init__(
        self,
        data: Data,
        epsilon: float = 4.0,
        seed: int = 0,
        target: str = "learner",
        exchange: Exchange = Exchange(),
        scaling: Scaling = Scaling(),
        weighting: Weighting = Weighting(),
    ) -> None:
        checks.refuse(
            [checks.one_of("target", target, ADVERSARIES), checks.positive("epsilon", epsilon)]
        )
        self.target, self.seed, self.perturbation = target, seed, exchange.perturbation
        self.learner: PrivateLearner = PERTURBATIONS[self.perturbation](epsilon, exchange.lam)
        self.epsilon, self.organisations = epsilon, exchange.organisations
        self.records = exchange.records or len(data.pool) // self.organisations
        _refuse_too_few(data, self.organisations, self.records)
        self.weighting, self.scaling = weighting, scaling
        self.features = scaling.of(data.pool).features

    def __repr__(self) -> str:
        names = ("learner", "target", "seed", "organisations", "records", "scaling", "weighting")
        return repr_of(self, names=names)

    @cached_property
    def claim(self) -> Claim:
        """Epsilon for the data of the publishers; nothing for those of the receiver."""
        if self.target == "receiver":
            return Claim(
                math.inf,
                0.0,
                unit="the receiver's own records",
                adjacency="replace",
                source="none: the receiver's own records go into the aggregate without noise",
            )
        unit = "one learner" if self.target == "learner" else "an aggregate of learners"
        source = f"{self.perturbation} perturbation of logistic regression"
        if isinstance(self.learner, ObjectivePerturbation):
            source += f", whose noise has eps' {self.learner.noise(self.records).epsilon:.4g}"
        return Claim(self.epsilon, 0.0, unit=unit, adjacency="replace", source=source)

    def about(self, pair: Pair) -> About:
        return About(
            adversary=ADVERSARIES[self.target],
            deployment=DEPLOYMENTS[self.target],
            breaks=NOTHING_CLAIMED if self.target == "receiver" else BREAKS,
            data={
                "name": pair.about["name"],
                "organisations": self.organisations,
                "records_of_each": self.records,
                "features": self.features,
            },
        )

    def craft(self, data: Data, seed: int) -> Known:
        """Return the two classes that learners tell apart."""
        return {"label_pair": np.array([0, 1])}

    def example(self) -> Observation:
        size = self.features if self.target == "learner" else len(self._questions)
        return {"values": np.zeros(size), "leaning": np.array(0.0)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        rows = self._neighbouring(pair)
        if self.target == "receiver":
            learners = self._published(rows.others(self.organisations - 1))
            both = np.stack([self._answers(own, learners) for own in rows.worlds])
            # No noise, so that it is one of two.
            return _leaning(both[[trial.world for trial in trials]], both)
        w = self._learners(rows, trials)
        if self.target == "learner":
            ratio = self.learner.log_ratio(w, rows.out, rows.inn)
            return [{"values": v, "leaning": r} for v, r in zip(w, ratio, strict=True)]
        (_, own), *others = rows.others(self.organisations - 1)
        fixed = self._published(others)
        usual = np.stack([self.learner.without_noise(world) for world in rows.worlds])
        return _leaning(*(self._answers(own, _beside(one, fixed)) for one in (w, usual)))

    def refuse(self, pair: Pair) -> None:
        """Refuse a pair whose rows are too long, or the same in both worlds as they are scaled."""
        self._neighbouring(pair)

    def _neighbouring(self, pair: Pair) -> NeighbouringRows:
        return NeighbouringRows.of(pair, self.records, self.scaling)

    def _answers(self, own: Rows, learners: Array) -> Array:
        """Return the scores of the aggregate of learners, weighed by an organisation's own rows."""
        return self.weighting.aggregate(learners, own).scores(self._questions)

    @property
    def _questions(self) -> Array:
        """The query rows of an aggregate.

        Of linear learners unit vectors, whose answers are all of it. Of signs so many directions
        that learners do not agree in all of them, or else their weights would not show.
        """
        if self.weighting.reading == "linear":
            return np.eye(self.features)
        draw = generator(self.seed, "ensemble", "asked")
        return draw.standard_normal((DIRECTIONS, self.features))

    def _learners(self, rows: NeighbouringRows, trials: Sequence[Trial]) -> Array:
        """Return the learner that the organisation with the canary publishes in each trial."""
        w = np.empty((len(trials), self.features))
        worlds = np.array([trial.world for trial in trials])
        for world, own in enumerate(rows.worlds):
            # A generator for each trial, so that it is the same whatever is played beside it.
            here = np.flatnonzero(worlds == world)
            draws = [np.random.default_rng(trials[int(i)].seed) for i in here]
            if draws:
                w[here] = self.learner.release(own, draws)
        return w

    def _published(self, others: Sequence[tuple[int, Rows]]) -> Array:
        """Return the learners of other organisations: the same in all trials, and public."""
        w = np.empty((len(others), self.features))
        for i, (number, rows) in enumerate(others):
            draw = generator(self.seed, "ensemble", "other", number)
            w[i] = self.learner.release(rows, [draw])[0]
        return w


def _beside(w: Array, fixed: Array) -> Array:
    """Each learner with all those that are fixed: (trials, d) and (M - 1, d) to (trials, M, d)."""
    others = np.broadcast_to(fixed, (len(w), *fixed.shape))
    return np.concatenate([w[:, None], others], axis=1)


def _leaning(made: Array, usual: Array) -> list[Observation]:
    """Return aggregates, each with its distance from the usual one of D less that from D'.

    They are rounded first: the low bits of a sum tell of its order.
    """
    from_out, from_inn = (
        np.linalg.norm(round_scores(made) - round_scores(u), axis=1) for u in usual
    )
    return [{"values": v, "leaning": s} for v, s in zip(made, from_out - from_inn, strict=True)]


def _refuse_too_few(data: Data, organisations: int, records: int) -> None:
    there, records = len(data.pool), max(records, 2)
    if records * organisations > there:
        problem = (
            f"{organisations} organisations of {records} records are more than the {there} "
            f"that {data.name} has for D; set fewer organisations, or records"
        )
        raise BadInput(problem, "too-few-records", option="organisations", value=organisations)


class Learner(FixedAttack):
    """Guess D' if a learner is likelier with its record, or an aggregate is nearer to it.

    For private ensembles. For one organisation's learner it is the exact log-likelihood ratio, the
    best possible score (Neyman and Pearson 1933): the records determine the density of the learner.
    For an aggregate this density is lost; the score is how much nearer the aggregate is to the
    noiseless one of D' than to that of D. Nothing is chosen: score and rule are fixed before the
    first learner, so all trials judge.
    """

    def __init__(self) -> None:
        needs = frozenset({"leaning"})
        score = Statistic("score", needs, lambda seen, known: np.asarray(seen["leaning"], float))
        super().__init__("learner", score)
