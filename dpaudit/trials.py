"""Trials as one attack sees them: fit a rule on some, count its errors on others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.protocols import Attack, Criterion, Rule
from dpaudit.types import IN, OUT, Array, Counts, Scores


@dataclass(frozen=True)
class Trials:
    """What one attack looks at in each trial, and the world that the trial came from."""

    features: Array
    worlds: Array

    def __len__(self) -> int:
        return len(self.worlds)

    def __getitem__(self, rows: Array) -> Trials:
        return Trials(self.features[rows], self.worlds[rows])

    def shuffled(self, draw: np.random.Generator) -> Trials:
        """The same trials with the worlds at random: nothing is left to find."""
        return Trials(self.features, draw.permutation(self.worlds))

    def fit(self, attack: Attack, criterion: Criterion) -> Rule:
        """The rule that an attack chooses on these trials."""
        return attack.fit(self.features, self.worlds, criterion)

    def count(self, rule: Rule) -> Counts:
        """The errors of a rule on these trials."""
        says_in = rule.decide(self.features)
        out, inn = says_in[self.worlds == OUT], says_in[self.worlds == IN]
        return Counts(fp=int(out.sum()), out=len(out), fn=int((~inn).sum()), inn=len(inn))

    def scores(self, rule: Rule) -> Scores:
        """The scores of these trials, larger = more like D'."""
        scores = rule.score(self.features)
        return Scores(out=scores[self.worlds == OUT], inn=scores[self.worlds == IN])
