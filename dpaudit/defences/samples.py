"""Ask a Bayesian network fewer times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.defences.predictions import need
from dpaudit.outputs import with_statistics
from dpaudit.types import Observations


@dataclass(frozen=True)
class FewerSamples(Composable):
    """fewer-samples:T keeps the first T passes of MC dropout, with mean and std of those.

    All of them where there are no more than T. The output without dropout stays as it is.

    Utility: mean and std become noisier, the more so the smaller T, and with them label,
    calibration and posterior. With T = 1 the std is 0 and tells nothing. It is measured on test
    records that were asked about 32 times at most, so that a T above shows no change there.

    RQ2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian
    Neural Network.
    """

    samples: int

    def __post_init__(self) -> None:
        checks.refuse(
            [checks.of("samples", checks.at_least("the number of fewer-samples", self.samples, 1))]
        )

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, "mc")
        others = {name: seen[name] for name in ("logits", "probabilities") if name in seen}
        return {**others, **with_statistics({"mc": np.asarray(seen["mc"])[:, : self.samples]})}

    def __str__(self) -> str:
        return f"fewer-samples:{self.samples}"


# ----------------------------------------------------------------
# Release the mean of MC dropout, and nothing else.


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


# ----------------------------------------------------------------
# Release mean and deviation of MC dropout, and nothing else.


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
