"""The embedded data set: small enough that an audit takes minutes, real enough to mean it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.data.split import split
from dpaudit.protocols import Loader
from dpaudit.types import Data, Records


@dataclass(frozen=True)
class Digits(Loader):
    """Handwritten digits, 1,797 images of 8x8 pixels in 10 classes; embedded, no download.

    They come with scikit-learn (the test part of UCI's Optical Recognition of Handwritten
    Digits, Alpaydin and Kaynak 1998). Pixels are divided by 16, into [0, 1]. The seed splits
    them into 1,000 records for D, 400 for shadow models and 397 for testing, with each digit
    in its fair share of each.
    """

    def load(self, seed: int) -> Data:
        # Here, because scikit-learn takes a second to import and `dpaudit list` has no time.
        from sklearn.datasets import load_digits

        digits = load_digits()
        x = (digits.images / 16).astype(np.float32)[:, None]
        y = digits.target.astype(np.int64)
        return split("digits", Records(x, y), classes=10, seed=seed)
