"""Trials as one attack sees them: fit a rule on some, count its errors on others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpaudit.errors import wrap_errors
from dpaudit.protocols import Attack, Criterion, Rule
from dpaudit.results import Counts, Decisions, Scores
from dpaudit.types import IN, OUT, Array


def indices(worlds: Array) -> Array:
    """Return the index of each trial in its world, from 0: two trials to an index."""
    found = np.empty(len(worlds), dtype=np.intp)
    for world in (OUT, IN):
        here = worlds == world
        found[here] = np.arange(here.sum())
    return found


def choosing(worlds: Array) -> Array:
    """Return a mask of the trials that choose a rule: those of even index.

    The index is settled before anything is seen. Both halves are balanced.
    """
    return np.asarray(indices(worlds) % 2 == 0)


@dataclass(frozen=True)
class Trials:
    """What one attack looks at in each trial, and the world that the trial came from."""

    features: Array
    worlds: Array
    attack: str = "unnamed"
    """Whose rule it is, if it fails."""

    def __len__(self) -> int:
        return len(self.worlds)

    def __getitem__(self, rows: Array) -> Trials:
        return replace(self, features=self.features[rows], worlds=self.worlds[rows])

    def of(self, world: int) -> int:
        """How many trials a world has."""
        return int((self.worlds == world).sum())

    def halves(self) -> tuple[Trials, Trials]:
        """Return the trials that choose a rule, and those that judge it."""
        chooses = choosing(self.worlds)
        return self[chooses], self[~chooses]

    def shuffled(self, draw: np.random.Generator) -> Trials:
        """The same trials with the worlds at random: nothing is left to find."""
        return replace(self, worlds=draw.permutation(self.worlds))

    def fit(self, attack: Attack, criterion: Criterion) -> Rule:
        """The rule that an attack chooses on these trials."""
        with wrap_errors(f"the attack {self.attack}"):
            return attack.fit(self.features, self.worlds, criterion)

    def count(self, rule: Rule) -> Counts:
        """The errors of a rule on these trials."""
        said = self.decisions(rule)
        fp, fn = int(said.out.sum()), int((~said.inn).sum())
        return Counts(fp=fp, out=len(said.out), fn=fn, inn=len(said.inn))

    def decisions(self, rule: Rule) -> Decisions:
        """What a rule says of these trials, in their order."""
        with wrap_errors(f"the attack {self.attack}"):
            says_in = rule.decide(self.features)
            if says_in.dtype != bool or says_in.shape != self.worlds.shape:
                raise TypeError(f"its rule must decide by one bool a trial, not by {says_in!r:.60}")
        return Decisions(out=says_in[self.worlds == OUT], inn=says_in[self.worlds == IN])

    def scores(self, rule: Rule) -> Scores:
        """The scores of these trials, larger = more like D'."""
        with wrap_errors(f"the attack {self.attack}"):
            scores = rule.score(self.features)
        return replace(self.split(scores), raw=rule.raw)

    def split(self, scores: Array) -> Scores:
        """One number a trial, by world."""
        return Scores(out=scores[self.worlds == OUT], inn=scores[self.worlds == IN])
