"""The adversary's gradients: crafted initial parameters, and single records' gradients there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from dpaudit.errors import BadInput
from dpaudit.seeds import derive
from dpaudit.training import predict
from dpaudit.training.dpsgd import fit
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Known, Records

BATCH, RATE, CLIP = 256, 0.5, 10.0

ROUND, ROUNDS, LEARNED = 500, 12, 1e-3
"""Steps between looks at the mean loss, the most looks, and the loss that is small enough."""


def pretrain(recipe: Recipe, records: Records, seed: int) -> Array:
    """The flat parameters of the recipe's network, trained without noise on these records.

    The adversary trains on data of its own until ordinary records' gradients are close to 0, so
    that a model is moved afterwards by the canary and the noise.
    """
    training = replace(
        recipe.training,
        steps=ROUND,
        batch=min(BATCH, len(records)),
        lr=RATE,
        dropout=0.0,
        backend="auto",  # whoever's code is audited, this is the adversary's own
    )
    plain = replace(recipe, training=training, clip=CLIP, noise_multiplier=0.0)
    theta: Array | None = None
    for i in range(ROUNDS):
        model = fit(plain, records, derive(seed, "pretraining", i), initial=theta).model
        theta = flat(model)
        loss = mean_loss(model, records)
        if not math.isfinite(loss):
            message = "the adversary's own training has no finite loss on these records; scale "
            message += "their values to [0, 1], or take --adversary observer"
            raise BadInput(message, "not-finite", option="adversary")
        if loss < LEARNED:
            break
    assert theta is not None
    return theta


def network(recipe: Recipe, theta: Array) -> nn.Sequential:
    """The recipe's network with these parameters."""
    model = recipe.build()
    nn.utils.vector_to_parameters(torch.tensor(theta), model.parameters())
    return model.eval()


def flat(model: nn.Module) -> Array:
    """The parameters of a network as one vector."""
    return np.asarray(nn.utils.parameters_to_vector(model.parameters()).detach().numpy())


def mean_loss(model: nn.Sequential, records: Records) -> float:
    """The mean cross-entropy of a network on these records."""
    logits = torch.as_tensor(predict.logits(model, records.x))
    return float(cross_entropy(logits, torch.as_tensor(records.y)))


def record_gradients(recipe: Recipe, theta: Array, records: Records) -> Iterator[Array]:
    """The flat gradient of every record's loss, one after the other, without dropout."""
    model = network(recipe, theta)
    parameters = list(model.parameters())
    for x, y in zip(torch.as_tensor(records.x), torch.as_tensor(records.y), strict=True):
        loss = cross_entropy(model(x[None]), y[None])
        pieces = torch.autograd.grad(loss, parameters)
        yield torch.cat([piece.flatten() for piece in pieces]).numpy()


def record_gradient(recipe: Recipe, theta: Array, x: Array, y: int) -> tuple[Array, float]:
    """One record's gradient, and its norm."""
    (g,) = record_gradients(recipe, theta, Records(x[None], np.array([y])))
    return g, float(np.linalg.norm(g))


def direction(recipe: Recipe, theta: Array, x: Array, y: int) -> Array:
    """The unit vector along one record's gradient."""
    g, norm = record_gradient(recipe, theta, x, y)
    return np.asarray(g / max(norm, np.finfo(np.float32).tiny))


def directions(given: Known, parameters: int) -> Array | None:
    """The unit vectors (canaries, parameters) of a pair's gradient canaries; None if none."""
    if "coordinates" in given:
        one_hot: Array = np.zeros((len(given["coordinates"]), parameters), np.float32)
        one_hot[np.arange(len(one_hot)), given["coordinates"]] = 1
        return one_hot
    return given.get("directions")


def parameter_movement(recipe: Recipe, theta: Array, records: Records) -> Array:
    """The sum of the absolute values of the records' clipped gradients, for each parameter."""
    total = np.zeros(len(theta))
    for g in record_gradients(recipe, theta, records):
        total += np.abs(g) * min(1.0, recipe.clip / max(float(np.linalg.norm(g)), 1e-30))
    return total
