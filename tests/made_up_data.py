"""Data of no meaning, for mechanisms that are tested for what they do with any."""

import numpy as np
import pytest

from dpaudit.types import Data, Records

SHAPE, CLASSES = (1, 2, 2), 3


def records(n, seed):
    draw = np.random.default_rng(seed)
    x = draw.uniform(size=(n, *SHAPE)).astype(np.float32)
    return Records(x, draw.integers(CLASSES, size=n))


@pytest.fixture(scope="session")
def data():
    """More test records than are ever shown to defences."""
    return Data("made up", records(30, 1), records(5, 2), records(510, 3), CLASSES)
