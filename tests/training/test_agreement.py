"""The fast backends train the models that Opacus trains."""

import numpy as np
import pytest
from compiled import EVERY
from settings import change, recipe

from dpaudit import data
from dpaudit.training.dpsgd import fit
from dpaudit.training.predict import logits
from dpaudit.types import Records

MODELS = 25
RECIPE = recipe(
    network="cnn-small",
    shape=(1, 8, 8),
    classes=10,
    epochs=5,
    batch=64,
    lr=3.0,
    clip=1.0,
    noise_multiplier=0.3,
    dropout=0.25,
)
"""Stopped while every step still counts: the accuracy is far from chance and from its end."""


def accuracies(backend):
    digits = data.load("digits")
    pool = Records(digits.pool.x[:512], digits.pool.y[:512])
    models = (fit(change(RECIPE, backend=backend), pool, seed).model for seed in range(MODELS))
    right = [logits(m, digits.test.x).argmax(axis=1) == digits.test.y for m in models]
    return np.mean(right, axis=1)


@pytest.fixture(scope="module")
def reference():
    return accuracies("opacus")


@pytest.mark.parametrize("backend", EVERY[:-1])
def test_models_are_as_accurate_as_those_of_opacus(backend, reference):
    """The means of 25 differ by less than three standard errors of their difference [3e-3]."""
    found = accuracies(backend)
    error = np.sqrt((found.var(ddof=1) + reference.var(ddof=1)) / MODELS)
    assert 0.3 < reference.mean() < 0.7
    assert abs(found.mean() - reference.mean()) < 3 * error
