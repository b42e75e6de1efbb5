"""Judge runs that stop as soon as their claim is refuted, and tell them when to stop.

Their number of trials depends on what the trials showed. Only evidence that is valid at any
stopping time, that of bets, may judge them.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.estimators.bets import FIRST, Bets
from dpaudit.journal import Journal
from dpaudit.judging.advice import next_steps
from dpaudit.judging.choice import Choice
from dpaudit.judging.judge import make_report
from dpaudit.judging.run_data import RunData, read_pairs, read_run
from dpaudit.judging.warnings import untested
from dpaudit.protocols import Attack
from dpaudit.results import Growth, Report, Scores
from dpaudit.types import Claim

MOST = 10**6
"""The largest number of models that a run until decided may need."""

ShowWealth = Callable[[float, float], None]
"""Shows the wealth against the claim, and the wealth that refutes it."""


@dataclass
class StoppingRule:
    """The rule that stops a running audit: it looks at the journal between trials.

    The budget `ends` at a time of the monotonic clock.
    """

    journal: Journal
    choice: Choice
    ends: float | None = None
    tell: ShowWealth = lambda wealth, needed: None
    _bets: Bets | None = field(default=None, init=False)

    def late(self) -> bool:
        """Tell whether the budget is spent; a first pair is always played, to be judged."""
        spent = self.ends is not None and time.monotonic() >= self.ends
        return spent and self.journal.whole_pairs() > 0

    def decided(self) -> bool:
        """Tell whether the models so far refute the claim."""
        first = 0 if self._bets is None else self._bets.pairs
        before = self.journal.whole_pairs()
        if before > first:
            new = read_pairs(self.journal, first, before).after(self.choice.defence_plugin)
            self._bets = _bet(new, self.choice, self._bets)
            self.tell(self._bets.wealth, self._bets.needed)
        return self._bets is not None and self._bets.decided


def _bet(data: RunData, choice: Choice, bets: Bets | None = None) -> Bets:
    """Bet on these trials, after those that the bets have already seen."""
    bets = bets or Bets(choice.fitting(data.seen), data.claim, choice.confidence)
    bets.show({name: data.trials(name, attack) for name, attack in bets.attacks.items()})
    return bets


def judge(journal: Journal, choice: Choice) -> Report:
    """Return the report of a run until decided, as far as it has come.

    Only the configured choice is judged: another attack, defence or confidence would be chosen
    after the models were seen.
    """
    started = time.perf_counter()
    undefended = read_run(journal, stopped=True)
    choice.refuse_other(undefended.settings, f"the run at {journal.path.parent}, until decided,")
    data = undefended.after(choice.defence_plugin)
    most = int(data.settings["models"])
    bets = _bet(data, choice)
    bounds = bets.bounds()
    nothing = Scores(out=np.empty(0), inn=np.empty(0))
    idle = untested(data.facts.untested, undefended.seen)
    goes_on = not bets.decided and 2 * bets.pairs < most
    more = f"Go on: the same command trains more, up to {most:,} models, and keeps these."
    return make_report(
        *(journal, choice, data, started, bounds),
        released=undefended.seen,
        scores=[nothing for _ in bounds],  # the rules changed during the run
        untested=idle,
        why=f"{bounds[0].estimator} decides because its evidence holds after every pair, whenever "
        "the run stops.",
        models={**data.models, "choosing": 2 * bets.fitting, "judging": 2 * bets.judging},
        advise=lambda expected: [
            *([more] if goes_on else []),
            *next_steps(
                *(data.facts, bounds[0], bounds[0].ceiling, None),
                goes_on=goes_on,
                untested=bool(idle),
                expected=expected,
            ),
        ],
        growth=Growth(bets.course, bets.beside, bets.needed, most),
    )


def refuse_undecidable(
    attacks: Mapping[str, Attack], claim: Claim, confidence: float, models: int
) -> None:
    """Refuse a run that can never refute its claim, before anything is trained."""
    fewest = fewest_models(attacks, claim, confidence)
    if fewest is None or models < fewest:
        takes = "any number is too few" if fewest is None else f"at least {fewest:,} are needed"
        text = (
            f"until decided, {models:,} models could not refute an epsilon of {claim.epsilon:g} "
            f"even if every guess were right (the first {2 * FIRST} only fit rules); {takes}: give "
            f"more models{'' if claim.curve else ', or a claim with its curve'}"
        )
        raise BadInput(text, "cannot-refute", option="models", value=models)


def fewest_models(attacks: Mapping[str, Attack], claim: Claim, confidence: float) -> int | None:
    """Return the models that refute a claim if no bet is lost; None if over `MOST`."""
    bets = Bets(attacks, claim, confidence)
    fours = bisect_left(range(MOST // 4 + 1), True, key=lambda n: bets.could_decide(2 * n))
    return 4 * fours if 4 * fours <= MOST else None
