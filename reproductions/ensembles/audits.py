"""Audits of private learners: exact likelihood ratios, held against what is claimed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.papers.ensemble.logistic_regression import ObjectivePerturbation, OutputPerturbation
from dpaudit.papers.ensemble.unit_rows import Rows
from dpaudit.results import Scores
from dpaudit.seeds import derive, trials
from dpaudit.types import IN, OUT, Array
from reproductions.ensembles.mutants import LAM, N, cases, corner, flipped


@dataclass(frozen=True)
class Audit:
    """Who learns from which neighbouring data, and how many learners of each world judge."""

    name: str
    learner: ObjectivePerturbation | OutputPerturbation
    out: Rows
    inn: Rows
    per_world: int = 10_000
    flips: bool = False
    """Whether the worlds differ in one label alone, of a row of norm 1: no ratio exceeds eps'/2."""


@dataclass(frozen=True)
class Audited:
    """What came out of it: bounds at 95 %, the most that they could be, the largest ratio seen."""

    name: str
    claim: float | None
    proven: float
    """By the exact scan of all scores, which decides."""
    counted: float
    """By errors on one half of a threshold that was chosen on the other, as most others do it."""
    ceiling: float
    largest: float | None
    """|ln p(w|D')/p(w|D)|, where the score is that."""
    limit: float | None
    """Of the largest, where one is known beforehand."""
    per_world: int
    verdict: str

    def summary(self) -> dict[str, Any]:
        """What is written as JSON; a bound is rounded down, so that it stays one."""
        told = {k: round(v, 3) if isinstance(v, float) else v for k, v in vars(self).items()}
        bounds = ("proven", "counted")
        return {**told, **{k: math.floor(1000 * getattr(self, k)) / 1000 for k in bounds}}


def audits() -> Iterator[Audit]:
    """The honest learner, label flips and corners; then every mutant beside its twin."""
    for d in (1, 2, 10):
        for epsilon, lam in ((1.0, 0.1), (4.0, 0.01)):
            learner = ObjectivePerturbation(epsilon, lam)
            yield Audit(f"label flip, d {d}, lam {lam:g}", learner, *flipped(50, d), flips=True)
    for kind in (ObjectivePerturbation, OutputPerturbation):
        noise = "corner" if kind is ObjectivePerturbation else "corner, output perturbation"
        for epsilon in (2.0, 4.0):
            yield Audit(f"{noise}, d 2", kind(epsilon, LAM), *corner(N, 2), per_world=20_000)
    yield Audit("corner, d 10", ObjectivePerturbation(4.0, LAM), *corner(N, 10))
    for case in cases():
        yield Audit(case.name, case.mutant, case.out, case.inn, 4000)
        yield Audit(f"{case.name}: twin", case.twin, case.twin_out, case.twin_inn, 4000)


def audited(audit: Audit) -> Audited:
    """Learners of both worlds, each with noise of its own, scored by the exact ratio."""
    scores = _scores(audit)
    largest = float(max(np.abs(scores.out).max(), np.abs(scores.inn).max()))
    limit = None
    if audit.flips and isinstance(audit.learner, ObjectivePerturbation):
        limit = audit.learner.noise(len(audit.out)).epsilon / 2
    return _judged(audit.name, audit.learner.epsilon, scores, largest, limit)


def aggregates(per_world: int) -> Iterator[Audited]:
    """What an organisation publishes, what another makes of it, and what that tells of its own."""
    from dpaudit.data.builtin import Sphere
    from dpaudit.papers.ensemble import Corner, Exchange, PrivateEnsemble, Scaling
    from dpaudit.papers.ensemble import Learner as Attack

    data = Sphere().load(0)
    pair = Corner().build(data, 0)
    for target in ("learner", "aggregate", "receiver"):
        mechanism = PrivateEnsemble(data, 4.0, 0, target, Exchange(records=N), Scaling(features=2))
        wanted = trials(derive(0, "ensemble", "aggregates") >> 32, 2 * per_world)
        seen = mechanism.run(pair, wanted)
        stacked = {name: np.stack([o[name] for o in seen]) for name in seen[0]}
        score = Attack().features(stacked, {})[:, 0]
        worlds = np.array([trial.world for trial in wanted])
        both = Scores(out=score[worlds == OUT], inn=score[worlds == IN])
        claimed = mechanism.claim.epsilon if mechanism.claim.guarantees else None
        yield _judged(f"seen through: {target}", claimed, both, None, None)


def _scores(audit: Audit) -> Scores:
    found: list[Array] = []
    seed = derive(0, "ensemble", audit.name, repr(audit.learner)) >> 32
    wanted = trials(seed, 2 * audit.per_world)
    for world, rows in ((OUT, audit.out), (IN, audit.inn)):
        draws = [np.random.default_rng(t.seed) for t in wanted if t.world == world]
        # In parts, so that a hundred thousand learners fit into memory.
        parts = [draws[i : i + 1000] for i in range(0, len(draws), 1000)]
        found.append(
            np.concatenate(
                [
                    audit.learner.log_ratio(audit.learner.release(rows, part), audit.out, audit.inn)
                    for part in parts
                ]
            )
        )
    return Scores(out=found[0], inn=found[1])


def _judged(
    name: str, claim: float | None, scores: Scores, largest: float | None, limit: float | None
) -> Audited:
    from dpaudit.attacks import ThresholdAttack
    from dpaudit.attacks.statistics import released
    from dpaudit.estimators import ClopperPearson, ExactScan
    from dpaudit.estimators.hold_out import HoldOut
    from dpaudit.estimators.trials import Trials
    from dpaudit.rates import round_scores

    per_world = len(scores.out)
    exact = Scores(out=round_scores(scores.out), inn=round_scores(scores.inn))
    bound = ExactScan().bound(exact, 0.0)
    both = Trials(np.concatenate([exact.out, exact.inn])[:, None], np.repeat([OUT, IN], per_world))
    attack = ThresholdAttack(released("score"))
    counted = HoldOut().bound(attack, both, ClopperPearson, 0.0, 0.95).epsilon
    verdict = "not refuted"
    if claim is None:
        verdict = "no guarantee claimed"
    elif bound.epsilon > claim:
        verdict = "REFUTED"
    return Audited(
        *(name, claim, bound.epsilon, counted, bound.ceiling, largest, limit, per_world, verdict)
    )
