"""Randomized response, its promise to users who hide their parameter, and the attack on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.attacks.rules import FixedAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.errors import BadInput
from dpaudit.papers.local.matrices import local_dp, logarithms
from dpaudit.papers.local.users import blended_leak, composed_strength, read_population, strength
from dpaudit.protocols import Mechanism, repr_of
from dpaudit.types import (
    IN,
    OUT,
    About,
    Array,
    Claim,
    Data,
    Known,
    Observation,
    Observations,
    Pair,
    Trial,
)

OBSERVERS = ("known", "blended")
PROMISES = {
    "pbp": "Parameter Blending Privacy",
    "pbp-sum": "Parameter Blending Privacy, added up over reports",
    "ldp": "local differential privacy",
}

DIGITS = 12
"""Digits of a promised strength: what enumeration leaves beyond them is rounding."""


@dataclass(frozen=True)
class Users:
    """The matrices by which users answer, and the share of users of each."""

    matrix: str = "blended"
    shares: str | None = None
    values: int | None = None

    def __post_init__(self) -> None:
        checks.refuse([None if self.values is None else checks.at_least("values", self.values, 2)])


class RandomizedResponse(Mechanism):
    """Randomized response, and the promise of Parameter Blending Privacy.

    A user has a value d and reports o with probability P[o, d]. Users choose their matrix P by a
    parameter theta. The number of users of each parameter is public; a user's own is secret. A
    trial is one user's reports. The value is a record's class, modulo the number of values, and the
    canary is that record with another class.

    The claim, Parameter Blending Privacy (`promise=pbp`), compares a user's report with those of
    users with other values and the most similar parameters: E'(theta) = max over d, d' and o of the
    min over theta' of |ln Pr(theta) P_theta[o,d] / Pr(theta') P_theta'[o,d']|, by enumeration. In
    the paper's example half of the users answer truly with .8 and half with .6. The former are
    promised ln 3; local differential privacy gives ln 4.

    The flaw: an attacker need not compare with the most similar users. An attacker who knows theta
    (`observer=known`) separates values by ln 4, and refutes ln 3. One who does not
    (`observer=blended`) sees the mean of all matrices: ln(7/3) in the paper's example, less than
    claimed. With three parameters, however, E' can be 0 while the blended report leaks ln(19/11)
    (`matrix=three-parameter`). E' values of several reports do not add up (`promise=pbp-sum`).
    Those of local differential privacy do (`promise=ldp`), and that claim holds.

    matrix: `blended`, the paper's example; `three-parameter`; `binary:P,P,...`, the probability of
    a true answer for each parameter; `grr:EPSILON`, `unary:EPSILON` and `optimised-unary:EPSILON`,
    one parameter for all; or `given:ROWS`, numbers of a row separated by commas, rows by slashes,
    parameters by semicolons. shares: of the parameters, in proportion; equal by default. values:
    their number; by default the data's classes. theta: the parameter that the observer knows, from
    0; by default the one that leaks most. reports: of each user, all by one parameter.
    support_only: leave out of E' what is impossible with d, where the definition makes it infinite.

    Takagi, Cao and Yoshikawa, On hiding the parameter in local differential privacy (in Japanese);
    Warner, Randomized Response (1965).
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "replaced",
        "attacks": ("reported-value",),
        "models": 4000,
    }
    trials_per_call = 1000

    def __init__(
        self,
        data: Data,
        users: Users = Users(),
        observer: str = "known",
        theta: int | None = None,
        reports: int = 1,
        promise: str = "pbp",
        support_only: bool = False,
    ) -> None:
        checks.refuse(
            [
                checks.one_of("observer", observer, OBSERVERS),
                checks.one_of("promise", promise, PROMISES),
                checks.at_least("reports", reports, 1),
            ]
        )
        self.observer, self.promise = observer, promise
        self.reports, self.support_only = reports, support_only
        self.population = read_population(users.matrix, users.shares, users.values, data.classes)
        self.theta = self._theta(theta, users.matrix) if observer == "known" else None
        if theta is not None and observer != "known":
            problem = "theta has no effect on an observer who does not know it; leave it out"
            raise BadInput(problem, "no-effect", option="theta", value=theta)
        if not np.isfinite(self.claim.epsilon):
            problem = (
                f"{users.matrix} promises nothing: some report is possible with one value and not "
                "with another; set support_only=true, or take a matrix without zeros"
            )
            raise BadInput(problem, "no-finite-epsilon", option="matrix", value=users.matrix)

    def _theta(self, theta: int | None, matrix: str) -> int:
        leaks = [local_dp(p) for p in self.population.matrices]
        if theta is None:
            return int(np.argmax(leaks))
        if not 0 <= theta < len(leaks):
            problem = f"theta must be from 0 to {len(leaks) - 1} of {matrix}, not {theta}"
            raise BadInput(problem, "out-of-range", option="theta", value=theta)
        return theta

    def __repr__(self) -> str:
        first = self.population.matrices.tolist(), self.population.shares.tolist()
        names = ("observer", "theta", "reports", "promise", "support_only")
        return repr_of(self, *first, names=names)

    @cached_property
    def claim(self) -> Claim:
        """The user's promise; of users whose parameter is not known, the weakest."""
        audited = range(len(self.population)) if self.theta is None else [self.theta]
        promises = [self._promised(theta) for theta in audited]
        weakest = audited[int(np.argmax(promises))]
        user = f"users of parameter {weakest}" if len(self.population) > 1 else "every user"
        unit = "one report" if self.reports == 1 else f"{self.reports} reports of one user"
        return Claim(
            epsilon=max(promises),
            delta=0.0,
            unit=unit,
            adjacency="replace",
            source=f"{PROMISES[self.promise]}, to {user}",
            beside={} if self.promise == "ldp" else {"local DP": self._local(weakest)},
            trials="reports" if self.reports == 1 else "users",
        )

    def _promised(self, theta: int) -> float:
        """Return a rounded strength, so that a promise of 0 is exactly 0."""
        if self.promise == "ldp" or len(self.population) == 1:
            return round(self._local(theta), DIGITS)
        together, times = (self.reports, 1) if self.promise == "pbp" else (1, self.reports)
        exact = strength(self.population, theta, together, self.support_only)
        return round(times * exact, DIGITS)

    def _local(self, theta: int) -> float:
        return composed_strength([self.population.matrices[theta]] * self.reports)

    @cached_property
    def label_pair(self) -> tuple[int, int]:
        """The values d and d' that this observer can tell apart best."""
        seen = self.population if self.theta is None else self.population.only(self.theta)
        # Of several reports of one matrix, all alike, no other values are told apart better.
        _, d, other = blended_leak(seen, self.reports if len(seen) > 1 else 1)
        return d, other

    def craft(self, data: Data, seed: int) -> Known:
        return {"label_pair": np.array(self.label_pair)}

    def known(self, pair: Pair) -> Known:
        """Return what is public: the matrices, the shares, and the two values."""
        return {
            "matrices": self.population.matrices,
            "shares": self.population.shares,
            "told_apart": np.array(self.label_pair),
        }

    def _adversary(self) -> str:
        reports = "the report" if self.reports == 1 else f"{self.reports} reports"
        if len(self.population) == 1:
            return f"observer: sees {reports} of one user; all users have the same public matrix"
        if self.theta is None:
            return f"observer: sees {reports} of one user, but does not know the parameter"
        return f"observer: sees {reports} of one user, and knows that the parameter is {self.theta}"

    def about(self, pair: Pair) -> About:
        breaks = "Look for the cause: the matrix, or the source of randomness."
        if self.promise != "ldp":
            breaks = (
                "The claim compares with the most similar other users, which an attacker need not "
                "do: dpaudit explain randomized-response. Promise local "
                "differential privacy instead (--set promise=ldp)."
            )
        return About(
            adversary=self._adversary(),
            deployment="Anyone who gets a user's reports can show this leak. Sums over many users "
            "show less.",
            breaks=breaks,
        )

    def example(self) -> Observation:
        report = {"report": np.zeros(self.reports, np.int64)}
        return report if self.theta is None else {**report, "theta": np.array(self.theta)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """Return a user's reports for each trial, and the parameter if the observer knows it."""
        of_world = self._values(pair)
        d = np.array([of_world[trial.world] for trial in trials])
        # A generator for each trial, so that it is the same whatever is played beside it.
        u = np.stack([np.random.default_rng(t.seed).random(1 + self.reports) for t in trials])
        theta = np.full(len(trials), self.theta)
        if self.theta is None:
            theta = _drawn(self.population.shares[None], u[:, :1])[:, 0]
        columns = self.population.matrices.transpose(0, 2, 1)[theta, d]
        reports = _drawn(columns, u[:, 1:])
        if self.theta is None:
            return [{"report": o} for o in reports]
        return [{"report": o, "theta": np.array(t)} for o, t in zip(reports, theta, strict=True)]

    def _values(self, pair: Pair) -> Mapping[int, int]:
        """Return the user's value in either world."""
        canary, k = pair.canary, self.population.values
        after = int(canary.y) % k
        kept = canary.replaces and canary.removed is not None
        before = int(pair.out.y[canary.removed]) % k if kept else after
        return {OUT: before, IN: after}


def _drawn(probabilities: Array, u: Array) -> Array:
    """Return the outcomes of each row's distribution that its uniform numbers fall on."""
    steps = np.cumsum(probabilities, axis=1)
    # The last step is 1 but for rounding; what is beyond it is its own.
    found = (u[:, :, None] >= steps[:, None, :-1]).sum(axis=2)
    return np.asarray(found)


class ReportedValue(FixedAttack):
    """Guess D' if the user's reports are likelier with the value of D'.

    For randomized response: the log-likelihood ratio of the user's reports, the best possible score
    (Neyman and Pearson 1933), because the matrices and the shares of their parameters are public.
    If the observer knows the user's parameter, it is in the observations; otherwise all parameters
    are blended. Nothing is chosen: score and rule are fixed before the first report, so all reports
    judge.
    """

    def __init__(self) -> None:
        score = Statistic("log likelihood ratio", frozenset({"report"}), _log_likelihood_ratio)
        super().__init__("reported-value", score)


def _log_likelihood_ratio(seen: Observations, known: Known) -> Array:
    """ln Pr(reports | d') / Pr(reports | d), by the parameter or, if it is not seen, by all.

    Pr(reports | d) = sum over theta of Pr(theta) prod over reports o of P_theta[o, d].
    """
    reports = np.asarray(seen["report"], dtype=np.intp)
    shares, d = np.asarray(known["shares"], np.float64), np.asarray(known["told_apart"], np.intp)
    log_p = logarithms(np.asarray(known["matrices"], np.float64)[:, :, d])
    # (trials, parameters, d and d')
    each = log_p[:, reports].sum(axis=2).transpose(1, 0, 2)
    if "theta" in seen:
        of = each[np.arange(len(each)), np.asarray(seen["theta"], dtype=np.intp)]
    else:
        of = np.logaddexp.reduce(logarithms(shares)[:, None] + each, axis=1)
    ratio: Array = of[:, 1] - of[:, 0]
    return ratio
