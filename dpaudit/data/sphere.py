"""Points on a sphere: data that are made, of two classes that a plane separates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpaudit.data.split import split
from dpaudit.ensemble.sources import points
from dpaudit.protocols import Loader
from dpaudit.seeds import generator
from dpaudit.types import Data, Records

POINTS, FEATURES = 6000, 10


@dataclass(frozen=True)
class Sphere(Loader):
    """6,000 points on the unit sphere in 10 dimensions, in two halves; made, no download.

    The class is 1 where the first coordinate is above 0. The synthetic data of Minami, Sato, Arai
    and Nakagawa, Aggregating Differentially Private Weak Learners. The seed draws the points, and
    splits them as it splits all data.
    """

    name: ClassVar[str] = "sphere"
    offset: ClassVar[float] = 0.0

    def load(self, seed: int) -> Data:
        draw = generator(seed, "data", self.name)
        x, y = points(draw, POINTS, FEATURES, self.offset)
        records = Records(x.astype(np.float32)[:, None, None, :], (y > 0).astype(np.int64))
        return replace(split(self.name, records, classes=2, seed=seed), bounds=(-1.0, 1.0))


@dataclass(frozen=True)
class SphereOffset(Sphere):
    """6,000 points on the same sphere, cut far off its middle: 2.5 % are of class 1; no download.

    The class is 1 where the first coordinate is above .6.
    """

    name: ClassVar[str] = "sphere-offset"
    offset: ClassVar[float] = 0.6
