"""Evidence against a claim, pair after pair of trials, for an audit that may stop at any time.

Each pair is scored by rules that were fitted on earlier pairs alone, so that its outcome is one
of a rule fixed beforehand. All attacks bet side by side with an equal share of the wealth: a
mean of e-values is an e-value, so that none of them has to be picked. Which process decides
follows from the claim: the paired-AUC bet where its curve can be computed, else the e-process,
which assumes nothing and always stands beside; except where trials are single steps of what is
claimed, whose own leak it would bet against. The wealth against a claim that holds ever
reaches 1/a with a probability of at most a, whenever one looks and why ever one stops.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dpaudit.accounting.curves import Family
from dpaudit.errors import BadInput
from dpaudit.estimators.claim_curves import known_curve
from dpaudit.estimators.e_process import EProcess
from dpaudit.estimators.paired_auc import AUCBet
from dpaudit.estimators.trials import Trials
from dpaudit.protocols import Attack, Rule
from dpaudit.rates import BoundCriterion, round_scores
from dpaudit.results import Bound, Scores
from dpaudit.types import IN, OUT, Claim

FIRST = 10
"""Pairs that only fit rules, and pairs between the first fits."""

LOOK = 20
"""Trials, at least, after which a run that is played until decided is looked at."""

GROWTH = 1.25
"""Growth of the number of pairs after which rules are fitted again, later."""

SELECTION = "before each pair, on earlier pairs"

FARTHEST = 30.0
"""The largest epsilon that the e-process bets against."""


class Bets:
    """All attacks' bets against one claim; `show` it new trials, look at it at any time.

    When rules are fitted depends on the number of pairs alone, so that the same trials give the
    same evidence, however many are shown at once. `curves` may be fewer than the claim's family.
    """

    def __init__(
        self,
        attacks: Mapping[str, Attack],
        claim: Claim,
        confidence: float,
        curves: Family | None = None,
    ) -> None:
        self.attacks, self.claim, self.confidence = attacks, claim, confidence
        highest = float(math.ceil(min(FARTHEST, max(10.0, claim.epsilon + 1))))
        self._auc = self._free = None
        if (curve := known_curve(claim)) is not None:
            self._auc = AUCBet(
                claim.delta, curves or curve, confidence, claim.adjacency, len(attacks)
            )
            self._area = self._auc.first_above(claim.epsilon)
        if not claim.by_step:
            free = EProcess(confidence, highest=highest)
            self._free = free.start(claim.delta, len(attacks), scored=True)
            above = free.grid()[free.grid() > claim.epsilon]
            self._point = float(above[0]) if len(above) else highest
        self._trials: dict[str, Trials] = {}
        self._rules: dict[str, Rule] = {}
        self._due = FIRST
        self.course: list[float] = []
        """The wealth of the deciding process after each pair."""
        self.beside: list[float] = []
        """The wealth of the e-process, where it stands beside."""

    @property
    def pairs(self) -> int:
        """The pairs that have been shown."""
        return len(self.course)

    @property
    def fitting(self) -> int:
        """Pairs that no bet was made on."""
        return min(self.pairs, FIRST)

    @property
    def judging(self) -> int:
        """Pairs that were bet on."""
        return self.pairs - self.fitting

    @property
    def needed(self) -> float:
        """The wealth that refutes the claim."""
        return 1 / (1 - self.confidence)

    @property
    def wealth(self) -> float:
        """The present value of a stake of 1 against the claim."""
        return self.course[-1] if self.course else 1.0

    @property
    def decided(self) -> bool:
        """True if the claim has been refuted."""
        if self._auc is not None and self._auc.least <= self._area:
            return False  # a bound of a curve takes a while
        return self.bounds()[0].epsilon > self.claim.epsilon

    def could_decide(self, pairs: int) -> bool:
        """Return whether a number of pairs could refute the claim if every bet were won."""
        bets = max(0, pairs - FIRST)
        if self._auc is not None:
            return self._auc.could_refute(self._area, bets)
        most = np.full(len(self.attacks), bets)
        return self._free is not None and self._free.ceiling(most) > self.claim.epsilon

    def show(self, new: Mapping[str, Trials]) -> None:
        """Add trials as each attack sees them: whole pairs, in the order of their index."""
        for name in self.attacks:
            _refuse_unpaired(new[name])
            before = self._trials.get(name)
            self._trials[name] = new[name] if before is None else before + new[name]
        last = min(len(trials) for trials in self._trials.values()) // 2
        while self.pairs < last:
            upto = min(last, self._due)
            self._bet(self.pairs, upto)
            if upto == self._due:
                self._fit(upto)
                self._due = max(upto + FIRST, math.ceil(GROWTH * upto))

    def bounds(self) -> list[Bound]:
        """Return the bound that decides, then the one beside it."""
        names = list(self.attacks)
        return [
            replace(
                bound,
                attack=names[0] if len(names) == 1 else "all together",
                rule="" if len(names) == 1 else f"equal bets by {', '.join(names)}",
                selection=SELECTION,
                counts=None,
                trials=(self.judging, self.judging),
            )
            for bound in (game.bound() for game in (self._auc, self._free) if game is not None)
        ]

    def _fit(self, upto: int) -> None:
        best = BoundCriterion(self.claim.delta)
        for name, attack in self.attacks.items():
            self._rules[name] = _between(self._trials[name], 0, upto).fit(attack, best)

    def _bet(self, first: int, upto: int) -> None:
        """Bet on the pairs from one to another, by the rules of earlier ones, if there are any."""
        outcomes: dict[str, list[tuple[bool, bool, float]]] = {}
        for name, rule in self._rules.items():
            new = _between(self._trials[name], first, upto)
            decisions, won = new.decisions(rule), _won(new.scores(rule))
            inn, out = decisions.inn.tolist(), decisions.out.tolist()
            outcomes[name] = list(zip(inn, out, won, strict=True))
        for i in range(upto - first):
            pair = [outcomes[name][i] if name in outcomes else None for name in self.attacks]
            wealth = []
            if self._auc is not None:
                self._auc.show([None if one is None else one[-1] for one in pair])
                wealth.append(self._auc.wealth(self._area))
            if self._free is not None:
                self._free.show_all(pair)
                wealth.append(self._free.wealth(self._point))
            decides, *beside = wealth
            self.course.append(decides)
            self.beside += beside


def _won(scores: Scores) -> list[float]:
    """Return 1 for each pair whose in-trial scores higher, 0.5 for a tie, 0 for the others."""
    # Rounded, as all scores are; what is no number is lower than any.
    both = (round_scores(scores.inn), round_scores(scores.out))
    inn, out = (np.where(np.isnan(world), -np.inf, world) for world in both)
    won: list[float] = np.where(inn == out, 0.5, inn > out).tolist()
    return won


def _between(trials: Trials, first: int, upto: int) -> Trials:
    """Return the pairs from one to before another."""
    return trials[np.arange(2 * first, 2 * upto)]


def _refuse_unpaired(trials: Trials) -> None:
    if len(trials) % 2 or not np.array_equal(trials.worlds, [OUT, IN] * (len(trials) // 2)):
        raise BadInput(
            "bets need pairs: trials of the two worlds in turn",
            "not-paired",
            value=len(trials),
        )
