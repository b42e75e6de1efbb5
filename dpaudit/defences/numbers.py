"""Defences on all released numbers: rounding to a unit, and Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.defences.predictions import need, numbers, with_logits
from dpaudit.seeds import generator
from dpaudit.types import OWN, Array, Observations

FINEST = 2.0**52
"""A double of so many units has no digits below the unit that could be rounded away."""


@dataclass(frozen=True)
class Quantize(Composable):
    """quantize:U releases probabilities, and mean and std of MC dropout, as multiples of U.

    The single passes of MC dropout are no longer released, because a thousand rounded ones
    would undo the rounding of their mean; logits are those of the rounded probabilities; other
    released numbers are rounded too; and nothing else is let out. Halves go to the even multiple.

    Utility: records whose two top classes are equal after rounding have no label any more. The
    posterior keeps its shape down to U; deviations below U/2 become 0.

    The quantisation of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network, which finds quantize:0.01 to cost less than a point of accuracy.
    """

    name = "quantize"
    unit: float

    def __post_init__(self) -> None:
        checks.refuse(
            [checks.of("unit", checks.in_range("the unit of quantize", self.unit, 0, 1, ends="(]"))]
        )

    def protect(self, seen: Observations) -> Observations:
        return with_logits({name: self._rounded(x) for name, x in numbers(seen).items()}, seen)

    def _rounded(self, x: Array) -> Array:
        """Multiples of the unit in double precision: equal multiples are equal numbers."""
        with np.errstate(over="ignore"):
            units = x / self.unit
        return np.where(np.abs(units) < FINEST, np.rint(units) * self.unit, x)


@dataclass(frozen=True)
class Noise(Composable):
    """noise:SIGMA adds Gaussian noise of deviation SIGMA to every released number.

    To probabilities, and to mean and std of MC dropout, which are then clipped to [0, 1]; to
    other released numbers too. The single passes are no longer released, because the mean of a
    thousand noisy ones would have next to no noise.

    The noise of a trial is drawn from the run's seed and the trial's world and number by a hash.
    It is the same whenever the run is judged, and independent of what the trial released and of
    other trials' noise, even where two release the same. So each trial is randomly processed by
    itself: trials stay independent, and bounds stay bounds. A record that is asked about again
    gets the same noise, as if the answer had been kept; new noise for each question would average
    out.

    Utility: labels of records change whose two top classes are not many SIGMA apart; calibration
    suffers, likelihood most, because small probabilities drown. Of the posterior's std only what
    is above SIGMA is left.
    """

    name = "noise"
    random = True
    sigma: float

    def __post_init__(self) -> None:
        checks.refuse([checks.of("sigma", checks.positive("the sigma of noise", self.sigma))])

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, OWN)
        draws = [generator(int(number), "noise") for number in seen[OWN]]
        kept = {}
        for name, x in sorted(numbers(seen).items()):
            noise = np.array([draw.standard_normal(x.shape[1:]) for draw in draws])
            with np.errstate(over="ignore"):
                noisy = x + self.sigma * noise.reshape(x.shape)
            kept[name] = noisy if name == "values" else np.clip(noisy, 0.0, 1.0)
        return with_logits(kept, seen)
