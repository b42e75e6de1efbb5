"""Who judges an attack: the estimator that may decide, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import partial

import numpy as np

from dpaudit import registry
from dpaudit.curves import within_reach
from dpaudit.errors import BadInput
from dpaudit.estimators import FREE
from dpaudit.estimators.checked import Checked
from dpaudit.protocols import Attack, Criterion, Estimator, scoring
from dpaudit.selections import Fixed, HoldOut, criterion, refuse_other_curve
from dpaudit.selections.dkw import errors
from dpaudit.trials import Trials
from dpaudit.types import Bound, Claim, Counts, Guesses, Scores

AUTO = "auto"
"""The strongest estimator that the attack and the claim allow."""


@dataclass(frozen=True)
class Jury:
    """The estimators of one attack, all of one kind of outcome; the first decides, if any does.

    Named by their plug-ins. Those that know curves are given that of the claim.
    """

    names: tuple[str, ...]
    claim: Claim
    seed: int

    @classmethod
    def of(cls, named: str, attack: Attack, claim: Claim, seed: int) -> Jury:
        """The estimator that was named, or the strongest; with what assumes nothing beside it.

        Scores that were fixed or learned beforehand need no threshold: the exact tests take
        them as they are. Rules on several statistics are more than their margins, and counted.
        """
        if named != AUTO:
            return cls((named,), claim, seed)._with_free()
        if scoring(attack) == "margins":
            return cls((FREE[Counts],), claim, seed)
        known = claim.curve is not None and within_reach(claim.curve)
        return cls(("rank-test",) if known else (FREE[Scores],), claim, seed)._with_free()

    def _with_free(self) -> Jury:
        made = self._make(self.names[0])
        beside = FREE[self.takes]
        if getattr(made, "assumption", "none") == "none" or beside in self.names:
            return self
        return Jury((*self.names, beside), self.claim, self.seed)

    @property
    def takes(self) -> type:
        """The kind of outcome that they judge by."""
        return _takes(self.names[0])

    def refuse(self) -> None:
        """Refuse what cannot judge this claim, before anything is judged."""
        for name in self.names:
            refuse_other_curve(self._make(name), self.claim)

    def fix(self, attack: Attack, trials: Trials, always: bool) -> Fixed:
        """The attack's rule, and the trials that judge it."""
        return HoldOut(always=always).fix(attack, trials, self.criterion, self.takes)

    @property
    def criterion(self) -> Criterion:
        """By which rules are chosen for the first of them."""
        return criterion(self._make(self.names[0]), self.claim.delta)

    def bounds(self, fixed: Fixed, first: float, others: float) -> list[Bound]:
        """The bound of each, at the confidence of the first and at that of the others."""
        levels = [first, *(others for _ in self.names[1:])]
        return [
            fixed.bound(partial(self._checked, name), self.claim.delta, level)
            for name, level in zip(self.names, levels, strict=True)
        ]

    def _checked(self, name: str, confidence: float) -> Checked:
        return Checked(name, self._make(name, confidence), confidence)

    def _make(self, name: str, confidence: float = 0.95) -> Estimator:
        if _takes(name) is Guesses:
            raise BadInput(
                f"{name} needs guesses of one run, and two worlds of trials give decisions or "
                "scores; choose another estimator"
            )
        wanted = registry.asked(registry.load("estimators", name)).get("curve")
        # The curve of (epsilon, delta) itself, unless the estimator is about another one.
        bare = None if wanted is None or wanted.default is wanted.empty else "pure"
        made: Estimator = registry.make(
            "estimators",
            name,
            confidence=confidence,
            seed=self.seed,
            curve=bare if self.claim.curve is None else self.claim.curve,
            adjacency=self.claim.adjacency,
        )
        return made

    def worth(self, attack: Attack, choosing: Trials) -> tuple[bool, float]:
        """How well an attack does within the choosing half, rule and errors on different trials.

        Each quarter judges the rules of the other, so that an attack which can tune more does
        not look better for that alone. Exact tests of scores come before counts of decisions,
        which cannot show as much.
        """
        quarters, scored = choosing.halves(), self.takes is Scores
        if not all(map(len, quarters)):
            return scored, 0.0
        best = self.criterion
        crossed = [(b, a.fit(attack, best)) for a, b in (quarters, quarters[::-1])]
        if scored:
            shown = _auc if self.names[0] != FREE[Scores] else partial(_best, best)
            return scored, float(np.mean([shown(b.scores(rule)) for b, rule in crossed]))
        fp, out, fn, inn = np.sum([astuple(b.count(rule)) for b, rule in crossed], axis=0)
        return scored, float(best(fp, out, fn, inn))


def _takes(name: str) -> type:
    takes: type = getattr(registry.load("estimators", name), "takes", Counts)
    return takes


def pick(
    attacks: Mapping[str, Attack], juries: Mapping[str, Jury], choosing: Mapping[str, Trials]
) -> str:
    """The attack that does best within the choosing half."""
    return max(attacks, key=lambda name: juries[name].worth(attacks[name], choosing[name]))


def _auc(scores: Scores) -> float:
    """How often an in-trial scores higher; ties count half, which is enough for a choice."""
    out = np.sort(scores.out)
    below, upto = (np.searchsorted(out, scores.inn, side=side) for side in ("left", "right"))
    return float(np.mean(below + upto) / (2 * len(out)))


def _best(criterion: Criterion, scores: Scores) -> float:
    """What the best threshold would certify: the statistic of the exact scan."""
    _, fp, fn = errors(scores)
    return float(criterion(fp, len(scores.out), fn, len(scores.inn)).max())
