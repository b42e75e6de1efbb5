"""Trainings of milliseconds, and losses whose gradients are known beforehand."""

from typing import Any

import numpy as np
import torch
from settings import change
from settings import recipe as made
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Records

LOGREG = made(
    network="logreg",
    shape=(1, 2, 2),
    classes=3,
    epochs=1,
    batch="full",
    lr=0.5,
    clip=1.0,
    noise_multiplier=0.0,
    dropout=0.0,
)
PARAMETERS = 4 * 3 + 3


def recipe(**changes: Any) -> Recipe:
    """Logistic regression by one full-batch step without noise, but for what is changed."""
    return change(LOGREG, **changes)


def records(n: int, shape: tuple[int, ...] = (1, 2, 2), classes: int = 3) -> Records:
    """Random images in [0, 1] with random labels."""
    draw = np.random.default_rng(n)
    x = draw.uniform(size=(n, *shape)).astype(np.float32)
    return Records(x, draw.integers(classes, size=n))


def numbered(n: int) -> Records:
    """Blank images, each labelled with its own number: a loss can tell which ones it is given."""
    return Records(np.zeros((n, 1, 2, 2), np.float32), np.arange(n))


def weights(model: nn.Module) -> Array:
    """All parameters in one vector."""
    return nn.utils.parameters_to_vector(model.parameters()).detach().numpy().copy()


def clipped_gradients(model: nn.Module, sample: Records, clip: float) -> tuple[Array, Array]:
    """The obvious way: each record's clipped gradient in a row, and all the norms before."""
    rows = []
    for x, y in zip(torch.as_tensor(sample.x), torch.as_tensor(sample.y), strict=True):
        loss = cross_entropy(model(x[None]), y[None])
        pieces = torch.autograd.grad(loss, list(model.parameters()))
        rows.append(torch.cat([piece.flatten() for piece in pieces]).double().numpy())
    norms = np.linalg.norm(rows, axis=1)
    return np.array(rows) * np.minimum(1.0, clip / norms)[:, None], norms


def flat_loss(logits: Tensor, y: Tensor) -> Tensor:
    """A loss without a slope: only noise and canaries move the weights."""
    return 0 * logits.sum(dim=1)


def first_logit(logits: Tensor, y: Tensor) -> Tensor:
    """On a blank image its gradient is 1 for the first class's bias and 0 for all else."""
    return logits[:, 0]


class Watched:
    """A loss that remembers the labels of every batch."""

    def __init__(self, loss: Any = flat_loss) -> None:
        self.loss = loss
        self.batches: list[Array] = []

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:
        self.batches.append(y.numpy().copy())
        return self.loss(logits, y)
