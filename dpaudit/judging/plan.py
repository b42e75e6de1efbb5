"""Before anything is trained: what so many models could show, and how many it takes.

All of it is for the best attack that there can be, so that a plan is the least that an audit
needs. What is computed here is a forecast, and never a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpaudit.accounting.curves import Gaussian, Pure
from dpaudit.estimators import (
    GDP,
    PLD,
    ClopperPearson,
    ExactScan,
    OneRun,
    OneRunFDP,
    PairedAUC,
    RankTest,
)
from dpaudit.estimators.bets import FIRST, LOOK
from dpaudit.estimators.power import (
    MOST,
    Counted,
    Guessed,
    Paired,
    Prospect,
    Ranked,
    Scanned,
    Stopped,
    least,
)
from dpaudit.judging.plan_request import MOST_CANARIES, MOST_MODELS, PlanRequest
from dpaudit.results import Assumption
from dpaudit.types import Claim


@dataclass(frozen=True)
class Row:
    """What one estimator can show; what is None takes more than `searched` models or canaries."""

    estimator: str
    assumption: Assumption
    judging: int
    """Trials in each world that judge, or guesses."""
    ceiling: float
    typical: float
    chance: float
    for_claim: int | None
    """To have a ceiling above the claim; of guessed canaries about."""
    for_power: int | None
    """To refute the claim with the chance that was asked for: about, for chances rise like the
    teeth of a saw; never more than the number that was asked about, if that is enough."""
    searched: int
    for_reach: int | None = None
    """To show more than `reach` with that chance."""
    guesses: int | None = None
    """Of the canaries that `for_power` takes."""


@dataclass(frozen=True)
class Pace:
    """How fast models are trained on this machine, measured on a few."""

    seconds: float
    """Of one model in one process, while all of them are at work."""
    probed: int
    workers: int
    backend: str = ""

    def time(self, models: int) -> float:
        """The seconds that so many models take."""
        return self.seconds * math.ceil(models / self.workers)


@dataclass(frozen=True)
class Decided:
    """After how many models a run stops that is played until decided, or None where that is far.

    In half of such audits, and in the share that was asked for; at a look, after every `LOOK`.
    """

    half: int | None
    power: int | None


@dataclass(frozen=True)
class Plan:
    """The estimators side by side, those that assume nothing first."""

    question: PlanRequest
    rows: Sequence[Row]
    until_decided: Decided | None = None
    """None of canaries, which are in one training."""
    pace: Pace | None = None

    @property
    def best(self) -> Row | None:
        """The estimator that needs least for the chance that is asked for."""
        able = [row for row in self.rows if row.for_power is not None]
        return min(able, key=lambda row: row.for_power or 0, default=None)


@dataclass(frozen=True)
class Scale:
    """From trials in each world, or canaries, to what is trained for them."""

    each: int
    """Models to one trial in each world; 1 of canaries."""

    def number(self, n: int) -> int:
        """Models, in fours, or canaries."""
        return n if self.each == 1 else -(-self.each * n // 4) * 4

    def trials(self, number: int) -> int:
        """In each world, or canaries."""
        return number // self.each


def prospects(question: PlanRequest) -> Iterator[tuple[Prospect, Scale]]:
    """The estimators that fit, those that assume nothing first."""
    truth, sure = question.truth, question.goal.confidence
    curves, pure = question.claimed, Pure(question.delta)
    if question.size.canaries is not None:
        r, m = question.size.guesses, question.size.canaries
        share = None if r is None else r / m
        yield Guessed("one-run", OneRun(sure), pure, truth, share), Scale(1)
        if curves.assumption != "none":
            by_curve = OneRunFDP(sure, curves)
            yield Guessed("one-run-fdp", by_curve, curves, truth, share), Scale(1)
        return
    chosen, scored = Scale(4), Scale(2 if question.fixed_score else 4)
    yield Counted("clopper-pearson", ClopperPearson(sure), pure, truth), chosen
    yield Scanned(ExactScan(sure), truth), scored
    if curves.assumption == "none":
        yield Paired(PairedAUC("pure", sure), pure, truth), scored
        return
    yield Ranked(RankTest(curves, sure), curves, truth), scored
    yield Paired(PairedAUC(curves, sure), curves, truth), scored
    if isinstance(curves, Gaussian):
        yield Counted("gdp", GDP(sure), curves, truth), chosen
    else:
        yield Counted("pld", PLD(curves, sure), curves, truth), chosen


def most_telling(claim: Claim, canaries: int, confidence: float) -> int:
    """How many of the canaries of one run to guess, by the claim alone: before there is one.

    What `plan` takes for the estimator that decides: the share, of a few, that would typically
    show most if twice the claim leaked.
    """
    *_, (decides, _) = prospects(PlanRequest.of(claim, canaries=canaries, confidence=confidence))
    assert isinstance(decides, Guessed)
    return decides.guesses(canaries)


def plan(question: PlanRequest) -> Plan:
    """What so many models, or canaries, can show, and how many it takes to show more."""
    rows = [_row(*found, question) for found in prospects(question)]
    if question.goal.reach is not None:
        goal, leak = (
            replace(question.goal, reach=None),
            replace(question.leak, true=question.truth.true),
        )
        shown = plan(replace(question, claim=question.goal.reach, goal=goal, leak=leak))
        rows = [
            replace(row, for_reach=other.for_power, searched=max(row.searched, other.searched))
            for row, other in zip(rows, shown.rows, strict=True)
        ]
    return Plan(question, rows, _until_decided(question))


def _until_decided(question: PlanRequest) -> Decided | None:
    if question.size.canaries is not None:
        return None
    bets = Stopped(question.claimed, question.truth, fitting=FIRST)
    half, power = (bets.pairs(share) for share in (0.5, question.goal.power))
    return Decided(_at_a_look(half), _at_a_look(power))


def _at_a_look(pairs: int | None) -> int | None:
    """The models that have been trained when a run first looks at so many pairs."""
    return None if pairs is None else -(-2 * pairs // LOOK) * LOOK


def _row(prospect: Prospect, scale: Scale, question: PlanRequest) -> Row:
    n = scale.trials(question.number)
    most = scale.trials(_most(prospect, scale))
    guessed = prospect if isinstance(prospect, Guessed) else None
    # More canaries may show less: each adds to what delta allows.
    far, growth = (most, 1.2) if guessed else (scale.trials(MOST), 2)

    def number(found: int | None) -> int | None:
        return None if found is None else scale.number(found)

    def first(enough: Callable[[int], bool], upto: int, start: int = 1) -> int | None:
        return least(enough, n if enough(n) else upto, start, growth)

    possible = first(lambda k: prospect.ceiling(k) > question.claim, far)
    enough = None
    if possible is not None and possible <= most:
        enough = first(lambda k: prospect.chance(k) >= question.goal.power, most, possible)
    return Row(
        estimator=prospect.name,
        assumption=prospect.assumption,
        judging=guessed.guesses(n) if guessed else n,
        ceiling=prospect.ceiling(n),
        typical=prospect.typical(n),
        chance=prospect.chance(n),
        for_claim=number(possible),
        for_power=number(enough),
        searched=max(scale.number(most), number(possible) or 0),
        guesses=guessed.guesses(enough) if guessed and enough else None,
    )


def _most(prospect: Prospect, scale: Scale) -> int:
    """Models, or canaries, at which a search for a chance ends."""
    if isinstance(prospect, Guessed):
        return MOST_CANARIES
    if isinstance(prospect, Scanned):
        return scale.number(prospect.most)
    return MOST_MODELS


# ---------------------------------------------------------------- for a figure


@dataclass(frozen=True)
class Course:
    """Ceiling and typical bound of one estimator as models, or canaries, become more.

    The typical bound is NaN where it would take long to simulate.
    """

    estimator: str
    assumption: Assumption
    numbers: Sequence[int]
    ceilings: Sequence[float]
    typical: Sequence[float]


def courses(question: PlanRequest) -> list[Course]:
    """From few to thirty times what was asked for, within reason."""
    asked, most = question.number, 10**5 if question.size.canaries is None else 10**4
    low, high = max(8, min(asked // 30, 40)), min(max(30 * asked, 4000), max(most, asked))
    points = np.unique(np.geomspace(low, high, 13).astype(int) // 4 * 4)
    return [_course(prospect, scale, points.tolist()) for prospect, scale in prospects(question)]


def _course(prospect: Prospect, scale: Scale, numbers: list[int]) -> Course:
    trials = [max(1, scale.trials(number)) for number in numbers]
    slow = prospect.most // 4 if isinstance(prospect, Scanned) else math.inf
    return Course(
        prospect.name,
        prospect.assumption,
        numbers,
        [prospect.ceiling(n) for n in trials],
        [prospect.typical(n) if n <= slow else math.nan for n in trials],
    )
