"""Small data and a recipe of milliseconds, for canaries that need shadow models."""

import numpy as np
import pytest
from settings import recipe as made

from dpaudit.canaries import crafted
from dpaudit.types import Data, Records

POOL, CLASSES, SHAPE = 40, 3, (1, 3, 3)


def records(n, seed):
    """Images of 0 to 1, both ends taken, whose brightest column is mostly that of their class."""
    draw = np.random.default_rng(seed)
    y = draw.integers(CLASSES, size=n)
    x = draw.uniform(0, 0.6, size=(n, *SHAPE))
    x[np.arange(n), 0, :, y] += 0.4
    x[:, 0, 0, 0] = draw.integers(2, size=n)
    return Records(x.astype(np.float32), y)


@pytest.fixture(scope="session")
def data():
    return Data("made up", records(POOL, 1), records(30, 2), records(5, 3), CLASSES)


@pytest.fixture(scope="session")
def recipe():
    return made(
        network="logreg",
        shape=SHAPE,
        classes=CLASSES,
        epochs=2,
        batch=10,
        lr=0.5,
        clip=1.0,
        noise_multiplier=0.5,
        dropout=0.3,
    )


@pytest.fixture(scope="session")
def models(recipe, data):
    """The shadow models of the run with seed 0."""
    return crafted.train_shadows(recipe, data, seed=0)
