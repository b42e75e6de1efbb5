"""Data sets that need no file: the embedded digits, and points that are drawn on a sphere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpaudit.data.split import split
from dpaudit.protocols import Loader
from dpaudit.seeds import generator
from dpaudit.types import Array, Data, Records


@dataclass(frozen=True)
class Digits(Loader):
    """Handwritten digits, 1,797 images of 8x8 pixels in 10 classes; embedded, no download.

    They come with scikit-learn (the test part of UCI's Optical Recognition of Handwritten
    Digits, Alpaydin and Kaynak 1998). Pixels are divided by 16, into [0, 1]. The seed splits
    them into 1,000 records for D, 400 for shadow models and 397 for testing, with each digit
    in its fair share of each.
    """

    def load(self, seed: int) -> Data:
        from sklearn.datasets import load_digits

        digits = load_digits()
        x = (digits.images / 16).astype(np.float32)[:, None]
        y = digits.target.astype(np.int64)
        return split("digits", Records(x, y), classes=10, seed=seed)


POINTS, FEATURES = 6000, 10


@dataclass(frozen=True)
class Sphere(Loader):
    """6,000 generated points on the unit sphere in 10 dimensions, in two halves; no download.

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
    """6,000 generated points on the same sphere, 2.5 % of class 1; no download.

    The class is 1 where the first coordinate is above .6.
    """

    name: ClassVar[str] = "sphere-offset"
    offset: ClassVar[float] = 0.6


def points(draw: np.random.Generator, number: int, d: int, offset: float) -> tuple[Array, Array]:
    """Uniform points on the unit sphere; label 1 if the first coordinate is above the offset."""
    x = draw.standard_normal((number, d))
    x = np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
    return x, np.where(x[:, 0] > offset, 1, -1)
