"""One play of a mechanism of known epsilon, as attacks and estimators are shown it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.special import expit

from dpaudit.calibration.mechanisms import KnownMechanism
from dpaudit.estimators.trials import Trials
from dpaudit.outputs import summarised
from dpaudit.protocols import Attack
from dpaudit.seeds import generator
from dpaudit.types import IN, OUT, Array, Known, Observations

T = TypeVar("T")

SAMPLES = 16
"""MC-dropout draws of a trial."""

KNOWN: Known = {
    "label": np.array(1),
    "sample_rate": np.array(1.0),
    "noise_multiplier": np.array(1.0),
}
"""Of two classes the second is the canary's; the number is like an update of a full batch."""

SHOWN = frozenset({"values", "logits", "mc", "mean", "std", "updates", "moved", "step"})
"""The names of all that is seen of a trial."""


@dataclass(frozen=True)
class Play:
    """`trials` of each world, in turn, and beside them one run with as many canaries in all."""

    mechanism: KnownMechanism
    trials: int
    seed: int
    samples: int = SAMPLES

    @cached_property
    def worlds(self) -> Array:
        """Of the trials."""
        return np.tile([OUT, IN], self.trials)

    @cached_property
    def seen(self) -> Observations:
        """The released number as networks show theirs: post-processing, so of the same epsilon.

        As it is; as an update or a move of the parameters along the canary's gradient; as a
        logit, so that the canary's loss falls with it; and as T draws of sigmoid(number +
        noise), as if by MC dropout, unless nobody looks at any.
        """
        draw = generator(self.seed, "trials")
        z = self.mechanism.draw(self.worlds, draw)
        along = {"updates": z[:, None], "moved": z, "step": z}
        logits = np.stack([np.zeros(len(z)), z], axis=1)
        seen = {"values": z[:, None], "logits": logits, **along}
        if not self.samples:
            return seen
        p = expit(z[:, None] + draw.normal(size=(len(z), self.samples)))
        return summarised({**seen, "mc": np.stack([1 - p, p], axis=2)})

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, made: Callable[[], T]) -> T:
        """What several ways share, made for the first of them."""
        if key not in self._kept:
            self._kept[key] = made()
        kept: T = self._kept[key]
        return kept

    def of(self, name: str, attack: Attack) -> Trials:
        """The trials as an attack sees them, which are the same whoever judges it."""
        features = self.once(name, lambda: attack.features(self.seen, KNOWN))
        return Trials(features, self.worlds, name)

    @cached_property
    def run(self) -> tuple[Array, Array]:
        """One run: what is released of each canary, and the coins that put them in."""
        draw = generator(self.seed, "one run")
        coins = draw.integers(0, 2, size=2 * self.trials)
        return self.mechanism.draw(coins, draw), coins
