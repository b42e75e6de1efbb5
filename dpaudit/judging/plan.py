"""Plan an audit: the bounds that a number of models could show, and the number that it takes.

All of it is for the best possible attack, so that a plan is the least that an audit needs. Its
numbers are a forecast, and never a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpaudit import estimators
from dpaudit.accounting.curves import GaussianFamily, PureFamily
from dpaudit.estimators.bets import FIRST, LOOK
from dpaudit.estimators.power.guessed import Guessed
from dpaudit.estimators.power.prospect import MOST, Prospect, least
from dpaudit.estimators.power.scored import Counted, Paired, Ranked, Scanned
from dpaudit.estimators.power.stopped import Stopped
from dpaudit.judging.plan_request import MOST_CANARIES, MOST_MODELS, PlanRequest
from dpaudit.results import Assumption, Result
from dpaudit.types import Claim


@dataclass(frozen=True)
class PlanRow:
    """The forecast of one estimator; None takes more than `searched` models or canaries."""

    estimator: str
    assumption: Assumption
    judging: int
    """Trials in each world that judge, or guesses."""
    ceiling: float
    typical: float
    chance: float
    for_claim: int | None
    """Number with a ceiling above the claim; approximate for guessed canaries."""
    for_power: int | None
    """Number that refutes the claim with the requested chance. Approximate, because power does not
    rise smoothly with size; at most the requested number, if that is enough."""
    searched: int
    for_reach: int | None = None
    """Number that shows more than `reach` with that chance."""
    guesses: int | None = None
    """Guesses on the canaries of `for_power`."""


@dataclass(frozen=True)
class Pace:
    """The speed of training on this machine, measured on a few models."""

    seconds: float
    """Time of one model in one process, while all of them are at work."""
    probed: int
    workers: int
    backend: str = ""

    def time(self, models: int) -> float:
        """Return the seconds that a number of models takes."""
        return self.seconds * math.ceil(models / self.workers)


@dataclass(frozen=True)
class ModelsUntilDecided:
    """The models after which half of the runs, and a share `power`, stop; None if that is far."""

    half: int | None
    power: int | None


@dataclass(frozen=True)
class Plan(Result):
    """The estimators side by side, those that assume nothing first."""

    request: PlanRequest
    rows: Sequence[PlanRow]
    until_decided: ModelsUntilDecided | None = None
    """None for many canaries, which are in one training."""
    pace: Pace | None = None

    @property
    def best(self) -> PlanRow | None:
        """The estimator that needs the fewest for the requested chance."""
        able = [row for row in self.rows if row.for_power is not None]
        return min(able, key=lambda row: row.for_power or 0, default=None)


def prospects(request: PlanRequest) -> Iterator[tuple[Prospect, int]]:
    """Yield the estimators that fit, those that assume nothing first.

    With each goes the number of models that give one trial in each world; 1 for canaries.
    """
    truth, sure = request.truth, request.goal.confidence
    curves, pure = request.claimed, PureFamily(request.delta)
    if request.size.canaries is not None:
        r, m = request.size.guesses, request.size.canaries
        share = None if r is None else r / m
        free = estimators.OneRun(sure)
        yield Guessed(free, pure, truth, share), 1
        if curves.assumption != "none":
            by_curve = estimators.OneRunFDP(sure, curves)
            yield Guessed(by_curve, curves, truth, share), 1
        return
    chosen, scored = 4, 2 if request.fixed_score else 4
    yield Counted(estimators.ClopperPearson(sure), pure, truth), chosen
    yield Scanned(estimators.ExactScan(sure), pure, truth), scored
    if curves.assumption == "none":
        yield Paired(estimators.PairedAUC("pure", sure), pure, truth), scored
        return
    yield Ranked(estimators.RankTest(curves, sure), curves, truth), scored
    yield Paired(estimators.PairedAUC(curves, sure), curves, truth), scored
    if isinstance(curves, GaussianFamily):
        yield Counted(estimators.GDP(sure), curves, truth), chosen
    else:
        yield Counted(estimators.PLD(curves, sure), curves, truth), chosen


def best_guess_count(claim: Claim, canaries: int, confidence: float) -> int:
    """Return the number of guesses for one run, by the claim alone.

    A plan takes the same for the estimator that decides: the share, of a few, that would typically
    show most if twice the claim leaked.
    """
    *_, (decides, _) = prospects(PlanRequest.of(claim, canaries=canaries, confidence=confidence))
    assert isinstance(decides, Guessed)
    return decides.guesses(canaries)


def plan(request: PlanRequest) -> Plan:
    """Forecast what the requested models, or canaries, can show, and how many show more."""
    goal = request.goal
    rows = [_row(*found, request) for found in prospects(request)]
    if goal.reach is not None:
        leak = replace(request.leak, true=request.truth.true)
        other = replace(request, claim=goal.reach, goal=replace(goal, reach=None), leak=leak)
        shown = [_row(*found, other) for found in prospects(other)]
        rows = [
            replace(row, for_reach=more.for_power, searched=max(row.searched, more.searched))
            for row, more in zip(rows, shown, strict=True)
        ]
    until_decided = None
    if request.size.canaries is None:
        bets = Stopped(request.claimed, request.truth, fitting=FIRST)
        pairs = (bets.pairs(share) for share in (0.5, goal.power))
        # A run looks after every `LOOK` models.
        half, most = (None if n is None else -(-2 * n // LOOK) * LOOK for n in pairs)
        until_decided = ModelsUntilDecided(half, most)
    return Plan(request, rows, until_decided)


def _row(prospect: Prospect, each: int, request: PlanRequest) -> PlanRow:
    n = request.number // each
    guessed = prospect if isinstance(prospect, Guessed) else None
    most = (MOST_CANARIES if guessed else MOST_MODELS) // each
    if isinstance(prospect, Scanned):
        most = prospect.most
    # More canaries may show less: each adds to what delta allows.
    far, growth = (most, 1.2) if guessed else (MOST // each, 2)

    def first(enough: Callable[[int], bool], upto: int, start: int = 1) -> int | None:
        return least(enough, n if enough(n) else upto, start, growth)

    def number(trials: int) -> int:
        return trials if guessed else -(-each * trials // 4) * 4

    possible = first(lambda k: prospect.ceiling(k) > request.claim, far)
    enough = None
    if possible is not None and possible <= most:
        enough = first(lambda k: prospect.chance(k) >= request.goal.power, most, possible)
    for_claim = None if possible is None else number(possible)
    return PlanRow(
        estimator=prospect.name,
        assumption=prospect.assumption,
        judging=guessed.guesses(n) if guessed else n,
        ceiling=prospect.ceiling(n),
        typical=prospect.typical(n),
        chance=prospect.chance(n),
        for_claim=for_claim,
        for_power=None if enough is None else number(enough),
        searched=max(number(most), for_claim or 0),
        guesses=guessed.guesses(enough) if guessed and enough else None,
    )


@dataclass(frozen=True)
class PlanCurve:
    """The ceiling and the typical bound of one estimator over numbers of models, or canaries.

    The typical bound is NaN where its simulation would take long.
    """

    estimator: str
    assumption: Assumption
    numbers: Sequence[int]
    ceilings: Sequence[float]
    typical: Sequence[float]


def plan_curves(request: PlanRequest) -> list[PlanCurve]:
    """Return the curves for a figure, up to thirty times the requested number, within reason."""
    number, most = request.number, 10**5 if request.size.canaries is None else 10**4
    low, high = max(8, min(number // 30, 40)), min(max(30 * number, 4000), max(most, number))
    points = np.unique(np.geomspace(low, high, 13).astype(int) // 4 * 4).tolist()
    curves = []
    for prospect, each in prospects(request):
        trials = [max(1, point // each) for point in points]
        slow = prospect.most // 4 if isinstance(prospect, Scanned) else math.inf
        ceilings = [prospect.ceiling(n) for n in trials]
        typical = [prospect.typical(n) if n <= slow else math.nan for n in trials]
        curves.append(PlanCurve(prospect.name, prospect.assumption, points, ceilings, typical))
    return curves
