"""Gradients of single records at given parameters, dropout off: an adversary's aim."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dpaudit.training.pretraining import network
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Known, Records


def each(recipe: Recipe, theta: Array, records: Records) -> Iterator[Array]:
    """The flat gradient of every record's loss, one after the other."""
    model = network(recipe, theta)
    parameters = list(model.parameters())
    for x, y in zip(torch.as_tensor(records.x), torch.as_tensor(records.y), strict=True):
        loss = cross_entropy(model(x[None]), y[None])
        pieces = torch.autograd.grad(loss, parameters)
        yield torch.cat([piece.flatten() for piece in pieces]).numpy()


def of_one(recipe: Recipe, theta: Array, x: Array, y: int) -> tuple[Array, float]:
    """One record's gradient, and its norm."""
    (g,) = each(recipe, theta, Records(x[None], np.array([y])))
    return g, float(np.linalg.norm(g))


def direction(recipe: Recipe, theta: Array, x: Array, y: int) -> Array:
    """The unit vector along one record's gradient."""
    g, norm = of_one(recipe, theta, x, y)
    return np.asarray(g / max(norm, np.finfo(np.float32).tiny))


def directions(given: Known, parameters: int) -> Array | None:
    """The unit vectors (canaries, parameters) of a pair's gradient canaries; None if none."""
    if "coordinates" in given:
        one_hot: Array = np.zeros((len(given["coordinates"]), parameters), np.float32)
        one_hot[np.arange(len(one_hot)), given["coordinates"]] = 1
        return one_hot
    return given.get("directions")


def moved(recipe: Recipe, theta: Array, records: Records) -> Array:
    """How much each parameter is moved by these records: the sum of clipped gradients' sizes."""
    total = np.zeros(len(theta))
    for g in each(recipe, theta, records):
        total += np.abs(g) * min(1.0, recipe.clip / max(float(np.linalg.norm(g)), 1e-30))
    return total
