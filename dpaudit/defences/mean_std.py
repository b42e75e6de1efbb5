"""Release mean and deviation of MC dropout, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import need
from dpaudit.types import Observations


@dataclass(frozen=True)
class MeanStd(Composable):
    """mean-std releases the mean and the std of MC dropout, and not the single passes.

    Minimum and maximum of the passes, and the output without dropout, are no longer seen.

    Utility: all of it. The label is that of the mean, and the posterior keeps its first two
    moments, which is what most users take from it; its tails and its shape are lost.

    Recommended by Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network, who find that all four statistics leak more than these two.
    """

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, "mean", "std")
        return {name: seen[name] for name in ("mean", "std")}

    def __str__(self) -> str:
        return "mean-std"
