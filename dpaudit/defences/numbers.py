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

    The single passes of MC dropout are not released, because a thousand rounded passes would undo
    the rounding of their mean. Logits are those of the rounded probabilities. Other released
    numbers are rounded too; nothing else is released. Halves go to the even multiple.

    Utility: records whose two top classes are equal after rounding have no label. The posterior
    keeps its shape down to U; deviations below U/2 become 0.

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

    This includes probabilities, and mean and std of MC dropout, which are then clipped to [0, 1].
    The single passes are not released, because the mean of a thousand noisy passes has almost no
    noise.

    A hash of the run's seed, the world and the trial's number draws the noise. It is the same
    whenever the run is judged, and independent of the released values and of other trials' noise,
    even if two trials release the same. So trials stay independent, and bounds stay valid. A
    repeated query of a record gets the same noise, as if the answer had been kept; new noise for
    each query would average out.

    Utility: labels change where the two top classes are within a few SIGMA. Calibration suffers,
    and likelihood most, because the noise hides small probabilities. Only the part of the
    posterior's std above SIGMA is left.
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
