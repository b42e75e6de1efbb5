"""Release the mean of MC dropout, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import need
from dpaudit.types import Observations


@dataclass(frozen=True)
class MeanOnly(Composable):
    """mean-only releases the mean of MC dropout, and neither the std nor the single passes.

    Utility: label and probabilities are those of the mean, as before. Of the posterior nothing is
    left but its mean: how sure the network is of a probability can no longer be told.
    """

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, "mean")
        return {"mean": seen["mean"]}

    def __str__(self) -> str:
        return "mean-only"
