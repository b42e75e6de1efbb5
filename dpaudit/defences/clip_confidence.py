"""Cap the largest probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import each_pass, with_logits
from dpaudit.types import Array, Observations


@dataclass(frozen=True)
class ClipConfidence(Composable):
    """clip-confidence:P lets no probability exceed P; what is above goes to the other classes.

    In proportion to their own, and evenly where they have none. In every pass of MC dropout, with
    mean and std anew; where only the mean is released, in the mean, and the std is left out. P is
    above 0.5, so that the largest class stays the largest.

    Utility: no label of a single pass changes. A network that is surer than P of what is right
    loses likelihood; passes above P become alike, so that the posterior's spread shrinks where it
    was surest.
    """

    p: float

    def __post_init__(self) -> None:
        checks.refuse(
            [checks.of("p", checks.in_range("the P of clip-confidence", self.p, 0.5, 1, ends="(]"))]
        )

    def protect(self, seen: Observations) -> Observations:
        return with_logits(each_pass(self, seen, self._capped), seen)

    def _capped(self, p: Array) -> Array:
        # P is above one half, so that one class at most is above it.
        above = p > self.p
        others = np.where(above, 0.0, p)
        total = others.sum(axis=-1, keepdims=True)
        even = ~above / max(1, p.shape[-1] - 1)
        share = np.divide(others, total, out=even, where=total > 0)
        capped = np.where(above, self.p, (1 - self.p) * share)
        return np.where(above.any(axis=-1, keepdims=True), capped, p)

    def __str__(self) -> str:
        return f"clip-confidence:{float(self.p)!r}"
