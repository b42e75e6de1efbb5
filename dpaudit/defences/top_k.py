"""Release the largest probabilities only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import predictions, with_logits
from dpaudit.types import Array, Observations


@dataclass(frozen=True)
class TopK(Composable):
    """top-k:K releases the K largest probabilities as they are, and 0 for all other classes.

    Of MC dropout these are the K largest means and their std; the single passes are no longer
    released, because in some of them other classes would be seen. Of equal probabilities the
    class that is counted first comes first. Where the canary's class is not among the K, its
    probability and its std are seen as 0: an attack learns that it was not among them.

    Utility: the label stays, and so do the K probabilities. What is left out is missing in the
    calibration and in the likelihood; of the posterior all classes but K are lost.
    """

    k: int

    def __post_init__(self) -> None:
        checks.refuse([checks.of("k", checks.at_least("the K of top-k", self.k, 1))])

    def protect(self, seen: Observations) -> Observations:
        shown = {name: (p, self._largest(p)) for name, p in predictions(self, seen).items()}
        kept = {name: np.where(largest, p, 0.0) for name, (p, largest) in shown.items()}
        if "std" in seen and "mean" in shown:
            kept["std"] = np.where(shown["mean"][1], seen["std"], 0.0)
        return with_logits(kept, seen)

    def _largest(self, p: Array) -> Array:
        """Which classes are among the K largest of their row."""
        rank = np.argsort(np.argsort(-p, axis=-1, kind="stable"), axis=-1, kind="stable")
        return rank < self.k

    def __str__(self) -> str:
        return f"top-k:{self.k}"
