"""Gaussian noise on what is released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit import checks
from dpaudit.defences.chain import Composable
from dpaudit.defences.outputs import need, numbers, with_logits
from dpaudit.seeds import generator
from dpaudit.types import OWN, Array, Observations


@dataclass(frozen=True)
class Noise(Composable):
    """noise:SIGMA adds Gaussian noise of deviation SIGMA to every released number.

    To probabilities, and to mean and std of MC dropout, which then are cut off at 0 and 1; to
    other released numbers too. The single passes are no longer released, because the mean of a
    thousand noisy ones would have next to no noise.

    The noise of a trial is drawn from the run's seed and the trial's world and number by a hash,
    so that it is the same whenever the run is judged, and has nothing to do with what the trial
    released nor with other trials' noise, even where two release the same. A trial behind it is
    then what the trial was, randomly processed by itself: trials stay independent, and bounds
    stay bounds. Once a record is asked about again the noise is no longer new, as if the answer
    had been kept; noise that is drawn anew for each question averages out.

    Utility: labels of records change whose two top classes are not many SIGMA apart; calibration
    suffers, likelihood most, because small probabilities drown. Of the posterior's std only what
    is above SIGMA is left.
    """

    sigma: float

    random = True

    def __post_init__(self) -> None:
        checks.refuse([checks.of("sigma", checks.positive("the sigma of noise", self.sigma))])

    def protect(self, seen: Observations) -> Observations:
        need(self, seen, OWN)
        draws = [generator(int(number), "noise") for number in seen[OWN]]
        kept = {}
        for name, x in sorted(numbers(seen).items()):
            with np.errstate(over="ignore"):
                noisy = x + self._noise(draws, x.shape)
            kept[name] = noisy if name == "values" else np.clip(noisy, 0.0, 1.0)
        return with_logits(kept, seen)

    def _noise(self, draws: list[np.random.Generator], shape: tuple[int, ...]) -> Array:
        noise = np.empty(shape)
        for row, draw in zip(noise, draws, strict=True):
            row[...] = draw.standard_normal(shape[1:])
        return self.sigma * noise

    def __str__(self) -> str:
        return f"noise:{float(self.sigma)!r}"
