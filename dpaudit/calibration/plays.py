"""One play of a mechanism of known epsilon, as attacks and estimators are shown it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from dpaudit.calibration.mechanisms import KnownMechanism
from dpaudit.protocols import Attack
from dpaudit.seeds import generator
from dpaudit.summaries import summarised
from dpaudit.trials import Trials
from dpaudit.types import IN, OUT, Array, Known, Observations

SAMPLES = 16
"""MC-dropout draws of a trial."""

KNOWN: Known = {"label": np.array(1)}
"""Of two classes the second is the canary's."""

SHOWN = frozenset({"values", "logits", "mc", "mean", "std"})
"""The names of all that is seen of a trial."""


@dataclass(frozen=True)
class Play:
    """`trials` of each world, in turn, and beside them one run with as many canaries in all."""

    mechanism: KnownMechanism
    trials: int
    seed: int

    @cached_property
    def worlds(self) -> Array:
        """Of the trials."""
        return np.tile([OUT, IN], self.trials)

    @cached_property
    def seen(self) -> Observations:
        """The released number as networks show theirs: post-processing, so of the same epsilon.

        As it is; as a logit, so that the canary's loss falls with it; and as T draws of
        sigmoid(number + noise), as if by MC dropout.
        """
        draw = generator(self.seed, "trials")
        z = self.mechanism.draw(self.worlds, draw)
        p = expit(z[:, None] + draw.normal(size=(len(z), SAMPLES)))
        return summarised(
            {
                "values": z[:, None],
                "logits": np.stack([np.zeros(len(z)), z], axis=1),
                "mc": np.stack([1 - p, p], axis=2),
            }
        )

    @cached_property
    def _features(self) -> dict[str, Array]:
        return {}

    def of(self, name: str, attack: Attack) -> Trials:
        """The trials as an attack sees them, which are the same whoever judges it."""
        if name not in self._features:
            self._features[name] = attack.features(self.seen, KNOWN)
        return Trials(self._features[name], self.worlds, name)

    @cached_property
    def run(self) -> tuple[Array, Array]:
        """One run: what is released of each canary, and the coins that put them in."""
        draw = generator(self.seed, "one run")
        coins = draw.integers(0, 2, size=2 * self.trials)
        return self.mechanism.draw(coins, draw), coins
