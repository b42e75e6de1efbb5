"""Runs that stop as soon as their claim is refuted: when that is, and what may be said then.

Trials that were stopped by what they showed are not a fixed number of trials, so that of all
judgements only the evidence that is valid at any stopping time may have them.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators.bets import FIRST, Bets
from dpaudit.journal import Journal
from dpaudit.judging import run_data
from dpaudit.judging.advice import next_steps
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import make_report
from dpaudit.judging.warnings import untested
from dpaudit.protocols import Attack
from dpaudit.results import Growth, Report, Scores
from dpaudit.types import Claim

MOST = 10**6
"""Models; nobody trains more to decide a claim."""

Tell = Callable[[float, float], None]
"""Told the wealth against the claim, and how much of it refutes the claim."""


class Watch:
    """Looks at a journal while it is played, and says when that is enough."""

    def __init__(
        self,
        journal: Journal,
        choice: Choice,
        ends: float | None = None,
        tell: Tell = lambda wealth, needed: None,
    ) -> None:
        self._journal, self._choice, self._tell = journal, choice, tell
        self._bets: Bets | None = None
        self._ends = ends

    def late(self) -> bool:
        """Whether the budget is spent, which `ends` at a time of the monotonic clock.

        A first pair is always played, so that there is something to judge.
        """
        spent = self._ends is not None and time.monotonic() >= self._ends
        return spent and self._journal.whole_pairs() > 0

    def decided(self) -> bool:
        """Whether the models so far refute the claim."""
        first = 0 if self._bets is None else self._bets.pairs
        before = self._journal.whole_pairs()
        if before > first:
            new = run_data.pairs(self._journal, first, before)
            new = new.after(self._choice.defence_plugin)
            if self._bets is None:
                self._bets = _bets(new, self._choice)
            _show(self._bets, new)
            self._tell(self._bets.wealth, self._bets.needed)
        return self._bets is not None and self._bets.decided


def judge(journal: Journal, choice: Choice) -> Report:
    """The report of a run that was played until decided, as far as it has come.

    Only as it was configured: an attack, a defence or a confidence that is chosen once the
    models have been looked at would not be fixed before them.
    """
    started = time.perf_counter()
    undefended = run_data.read(journal, stopped=True)
    choice.refuse_other(
        undefended.settings,
        f"the run at {journal.path.parent} was to stop once its models had shown enough, so that "
        "it",
    )
    seen = undefended.after(choice.defence_plugin)
    most = int(seen.settings["models"])
    bets = _bets(seen, choice)
    _show(bets, seen)
    bounds = bets.bounds()
    nothing = Scores(out=np.empty(0), inn=np.empty(0))
    idle = untested(seen.settled.untested, undefended.seen)
    return make_report(
        *(journal, choice, seen, started, bounds),
        released=undefended.seen,
        scores=[nothing for _ in bounds],  # rules changed on the way
        untested=idle,
        why=f"{bounds[0].estimator} decides because its evidence may be looked at after every "
        "pair, and the run stopped at will.",
        models={**seen.models, "choosing": 2 * bets.fitting, "judging": 2 * bets.judging},
        next_steps=[
            *(more := _goes_on(bets, most)),
            *next_steps(
                *(seen.settled, bounds[0], bounds[0].ceiling, None),
                goes_on=bool(more),
                untested=bool(idle),
            ),
        ],
        growth=Growth(bets.course, bets.beside, bets.needed, most),
    )


def refuse_hopeless(
    attacks: Mapping[str, Attack], claim: Claim, confidence: float, models: int
) -> None:
    """Refuse a run that could never be decided, before anything is trained."""
    least = fewest(attacks, claim, confidence)
    if least is None or models < least:
        takes = "any number is too few" if least is None else f"at least {least:,} are needed"
        raise BadInput(
            f"until decided, {models:,} models could not refute an epsilon of {claim.epsilon:g} "
            f"even if no bet were lost (the first {2 * FIRST} only fit rules); {takes}: give more "
            "--models, or leave --until-decided out",
            "cannot-refute",
            option="models",
            value=models,
        )


def fewest(attacks: Mapping[str, Attack], claim: Claim, confidence: float) -> int | None:
    """How many models could refute a claim if no bet were lost; None where a million could not."""
    bets = Bets(attacks, claim, confidence)
    fours = bisect_left(range(MOST // 4 + 1), True, key=lambda n: bets.could_decide(2 * n))
    return 4 * fours if 4 * fours <= MOST else None


def _goes_on(bets: Bets, most: int) -> list[str]:
    if bets.decided or 2 * bets.pairs >= most:
        return []
    return [f"Go on: the same command trains more, up to {most:,} models, and keeps these."]


def _bets(seen: run_data.RunData, choice: Choice) -> Bets:
    return Bets(choice.fitting(seen.seen), seen.claim, choice.confidence)


def _show(bets: Bets, seen: run_data.RunData) -> None:
    bets.show({name: seen.trials(name, attack) for name, attack in bets.attacks.items()})
