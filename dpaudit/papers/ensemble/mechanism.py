"""Private learners of several organisations: what one publishes, and what another makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.ensemble import ObjectivePerturbation, Organisation, Weighting
from dpaudit.papers.ensemble.adversary import Neighbouring
from dpaudit.papers.ensemble.learning import PERTURBATIONS
from dpaudit.papers.ensemble.organisations import Learner
from dpaudit.papers.ensemble.rows import Scaling
from dpaudit.protocols import Mechanism
from dpaudit.rates import round_scores
from dpaudit.seeds import generator
from dpaudit.types import About, Array, Claim, Data, Known, Observation, Pair, Trial

TARGETS = ("learner", "aggregate", "receiver")

DIRECTIONS = 64
"""In which an aggregate of signs is asked."""


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
    """Private logistic regressions that organisations exchange, and one aggregates.

    M + 1 organisations have n records each. Number m publishes w_m = argmin (1/n) sum of
    ln(1 + e^(-y w.x)) + (Lambda/2) ||w||^2 + b.w/n, where the density of b is prop. to
    exp(-(eps'/2) ||b||). Number 0 weighs what it receives by how well it does on its own records
    (mirror averaging). Classes become -1 (even) and 1 (odd); n is that of one organisation.

    The claim: every w_m is eps-DP for replacing one of the n records, if no row is longer than 1
    and the minimum is exact. eps' = eps - 2 ln(1 + 1/(4 n Lambda)), the rest being the Jacobian's;
    where that is not above 0, eps/2 and more regularisation, so that eps' may fall as eps grows.
    It holds, with slack: who flips a label shows at most eps'/2 (--canary replaced), a record in a
    `corner` more, each the less the more features there are.

    The flaw: only the data of those who publish are protected. target: `learner`, who sees a w_m;
    `aggregate`, who sees what number 0 has made of it and of others, which are fixed: no more than
    w_m shows; `receiver`, who sees an aggregate and asks for the data of number 0 itself, which
    went into it without noise: nothing is promised, and all is told (of signs, where learners do
    not all agree about the record). Organisation 0 must not publish the aggregate.

    organisations: M + 1. records: n; as many as there are for each if left out. lam: Lambda.
    perturbation: `objective`, or `output` (noise of sensitivity 2/(n Lambda) upon the minimum).
    features: how many of the first are learned from; all if left out. bound: all rows are divided
    by it; state one that is known without the data. rows: those that are still longer than 1 are
    refused (`refuse`) or shortened (`clip`), or every row is divided by its norm (`normalise`).
    intercept: a feature that is always 1. beta, start (0, or the paper's 1), reading (`linear`,
    `sign`) and average (`mirror`, `single`) are of the aggregate.

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
            [checks.one_of("target", target, TARGETS), checks.positive("epsilon", epsilon)]
        )
        self.target, self.seed, self.perturbation = target, seed, exchange.perturbation
        self.learner: Learner = PERTURBATIONS[self.perturbation](epsilon, exchange.lam)
        self.epsilon, self.organisations = epsilon, exchange.organisations
        self.records = exchange.records or len(data.pool) // self.organisations
        _refuse_too_few(data, self.organisations, self.records)
        self.weighting, self.scaling = weighting, scaling
        self.features = scaling.of(data.pool).features

    def __repr__(self) -> str:
        told = ("learner", "target", "seed", "organisations", "records", "scaling", "weighting")
        return f"PrivateEnsemble({', '.join(f'{t}={getattr(self, t)!r}' for t in told)})"

    # ------------------------------------------------------------ what is promised

    @cached_property
    def claim(self) -> Claim:
        """Epsilon for the data of who publishes; for those of the receiver, nothing."""
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

    def _adversary(self) -> str:
        return {
            "learner": "knows all records but one, and sees what their organisation publishes",
            "aggregate": "knows all records but one and the learners of all other organisations, "
            "and sees the aggregate",
            "receiver": "knows all records but one and all learners, and sees the aggregate",
        }[self.target]

    def _deployment(self) -> str:
        """What follows for organisations that do as the paper says."""
        if self.target == "receiver":
            return "organisation 0 keeps the aggregate to itself, or tells what its own records are"
        if self.target == "aggregate":
            return (
                "who gets the aggregate without those learners knows less; what it tells of the "
                "records that they are weighed by is another question (--set target=receiver)"
            )
        return (
            "every organisation that receives the learner sees as much, and shows less where it "
            "does not know the other records"
        )

    def _breaks(self) -> str:
        """Where to look if the claim is refuted, or what to do where there is none."""
        if self.target == "receiver":
            return (
                "Do not publish an aggregate: its receiver's own records are in it without noise. "
                "See what it tells of the others' (--set target=aggregate)."
            )
        return (
            "Look for what breaks the claim: rows longer than 1, a minimum that is not exact, "
            "noise whose density is not that of its norm, the number of records of one "
            "organisation."
        )

    def about(self, pair: Pair) -> About:
        """Describe the adversary and the data: not all that there are, but what was dealt out."""
        told = {
            "name": pair.about["name"],
            "organisations": self.organisations,
            "records_of_each": self.records,
            "features": self.features,
        }
        return About(
            adversary=self._adversary(),
            deployment=self._deployment(),
            breaks=self._breaks(),
            data=told,
        )

    def craft(self, data: Data, seed: int) -> Known:
        """Return the two classes that learners tell apart."""
        return {"told_apart": np.array([0, 1])}

    # ------------------------------------------------------------ the game

    def example(self) -> Observation:
        """An observation, of which only names and shapes matter."""
        seen = self.features if self.target == "learner" else len(self._asked)
        return {"values": np.zeros(seen), "leaning": np.array(0.0)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """A learner for each trial, and the aggregate that is made of it where that is released."""
        of = self._neighbouring(pair)
        if self.target == "receiver":
            learners = self._fixed(of.organisations(self.organisations - 1))
            both = np.stack([self._made(Organisation(0, own), learners) for own in of.worlds])
            # No noise, so that it is one of two.
            return _leaning(both[[trial.world for trial in trials]], both)
        w = self._published(of, trials)
        if self.target == "learner":
            ratio = self.learner.log_ratio(w, of.out, of.inn)
            return [{"values": v, "leaning": r} for v, r in zip(w, ratio, strict=True)]
        own, *others = of.organisations(self.organisations - 1)
        fixed = self._fixed(others)
        usual = np.stack([self.learner.without_noise(rows) for rows in of.worlds])
        return _leaning(*(self._made(own, _beside(one, fixed)) for one in (w, usual)))

    def refuse(self, pair: Pair) -> None:
        """Refuse a pair whose rows are too long, or the same in both worlds by what was set."""
        self._neighbouring(pair)

    def _neighbouring(self, pair: Pair) -> Neighbouring:
        return Neighbouring.of(pair, self.records, self.scaling)

    def _made(self, own: Organisation, learners: Array) -> Array:
        """What the aggregate that an organisation makes of learners says where it is asked."""
        return own.aggregate(learners, self.weighting).scores(self._asked)

    @property
    def _asked(self) -> Array:
        """What an aggregate is asked about.

        Of linear learners unit vectors, whose answers are all of it. Of signs so many directions
        that learners do not agree in all of them, or else their weights would not show.
        """
        if self.weighting.reading == "linear":
            return np.eye(self.features)
        draw = generator(self.seed, "ensemble", "asked")
        return draw.standard_normal((DIRECTIONS, self.features))

    def _published(self, of: Neighbouring, trials: Sequence[Trial]) -> Array:
        """What the organisation with the record publishes in each trial."""
        w = np.empty((len(trials), self.features))
        worlds = np.array([trial.world for trial in trials])
        for world, rows in enumerate(of.worlds):
            # A generator for each trial, so that it is the same whatever is played beside it.
            here = np.flatnonzero(worlds == world)
            draws = [np.random.default_rng(trials[int(i)].seed) for i in here]
            if draws:
                w[here] = self.learner.release(rows, draws)
        return w

    def _fixed(self, others: Sequence[Organisation]) -> Array:
        """What other organisations have published: the same in all trials, and public."""
        w = np.empty((len(others), self.features))
        for i, each in enumerate(others):
            draw = generator(self.seed, "ensemble", "other", each.number)
            w[i] = each.published(self.learner, draw)
        return w


def _beside(w: Array, fixed: Array) -> Array:
    """Each learner with all those that are fixed: (trials, d) and (M - 1, d) to (trials, M, d)."""
    others = np.broadcast_to(fixed, (len(w), *fixed.shape))
    return np.concatenate([w[:, None], others], axis=1)


def _leaning(made: Array, usual: Array) -> list[Observation]:
    """Aggregates, and how far each is from the usual one of D less how far from that of D'.

    Rounded before, because the low bits of a sum are not what it tells.
    """
    from_out, from_inn = (
        np.linalg.norm(round_scores(made) - round_scores(u), axis=1) for u in usual
    )
    leaning = from_out - from_inn
    return [{"values": v, "leaning": s} for v, s in zip(made, leaning, strict=True)]


def _refuse_too_few(data: Data, organisations: int, records: int) -> None:
    there = len(data.pool)
    if max(records, 2) * organisations > there:
        raise BadInput(
            f"{organisations} organisations of {max(records, 2)} records are more than the {there} "
            f"that {data.name} has for D; set fewer organisations, or records",
            "too-few-records",
            option="organisations",
            value=organisations,
        )
