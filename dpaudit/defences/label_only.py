"""Release the label, and no probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import predictions, with_logits
from dpaudit.outputs import labels_of
from dpaudit.types import Observations


@dataclass(frozen=True)
class LabelOnly(Composable):
    """label-only releases which class is the largest, and no probability.

    A 1 stands for that class and 0 for all others, of the mean of MC dropout and of the output
    without dropout; a record with no single largest class has no 1. An attack sees whether the
    canary's class is the label, and nothing more.

    Utility: the accuracy stays. No confidence is left that could be calibrated, and nothing of the
    posterior.
    """

    def protect(self, seen: Observations) -> Observations:
        kept = {
            name: (labels_of(p)[:, None] == np.arange(p.shape[-1])).astype(np.float64)
            for name, p in predictions(self, seen).items()
        }
        return with_logits(kept, seen)

    def __str__(self) -> str:
        return "label-only"
