"""Flatten probabilities by a temperature."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import each_pass
from dpaudit.outputs import softmax
from dpaudit.types import Array, Observations


@dataclass(frozen=True)
class Temperature(Composable):
    """temperature:TAU divides all logits by TAU, so that probabilities are flatter above 1.

    p^(1/TAU), scaled to add up to 1, in every pass of MC dropout, with mean and std anew; where
    only the mean is released, of the mean, and the std is left out.

    It hides nothing from whoever knows TAU: a power of TAU undoes it, but for what a mean over
    passes has mixed. What it stops is attacks with thresholds for other outputs.

    Utility: the label of a single pass stays; that of the mean may change where passes disagree.
    Confidence and the posterior's spread shrink for all records alike, which helps calibration
    where the network was too sure and harms it elsewhere.
    """

    tau: float

    def __post_init__(self) -> None:
        checks.refuse([checks.of("tau", checks.positive("the temperature", self.tau))])

    def protect(self, seen: Observations) -> Observations:
        kept = each_pass(self, seen, self._flatter)
        if "logits" in seen:
            with np.errstate(over="ignore"):
                kept["logits"] = np.asarray(seen["logits"], dtype=np.float64) / self.tau
        return kept

    def _flatter(self, p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # The largest is 0 at every TAU, so that one near 0 leaves the label and no NaN.
            return softmax(np.log(p / p.max(axis=-1, keepdims=True)) / self.tau)

    def __str__(self) -> str:
        return f"temperature:{float(self.tau)!r}"
