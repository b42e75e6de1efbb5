"""Shadow models: the adversary's own, trained by the target's recipe on data disjoint from D.

Their mean loss tells which record a model would find hardest; the sign of their mean
gradient tells how to make one harder. Both are as in the audit of Bayesian networks that
dpaudit starts from: ten models, forty steps of 0.01, no norm constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.seeds import derive
from dpaudit.types import Array, Data, Records

if TYPE_CHECKING:
    from torch import nn

    from dpaudit.training.recipe import Recipe

SHADOWS, STEPS, STEP = 10, 40, 0.01


def train(
    recipe: Recipe, data: Data, seed: int, executor: Executor | None = None
) -> list[nn.Sequential]:
    """The shadow models; every canary of a run's seed gets the same ones."""
    from dpaudit.training.dpsgd import fit_many

    if (dtype := data.shadow.x.dtype).kind != "f":
        raise BadInput(
            f"shadow models train on floats, and the records are {dtype}; take a canary that needs "
            "none, such as static, random or mislabelled",
            "wrong-type",
            option="data",
            value=str(dtype),
        )
    seeds = [derive(seed, "shadow", j) for j in range(SHADOWS)]
    return fit_many(recipe, data.shadow, seeds, executor)


def hardest(models: Sequence[nn.Sequential], records: Records) -> int:
    """The record with the largest mean loss over the models."""
    import torch
    from torch.nn.functional import cross_entropy

    from dpaudit.training.predict import logits

    y = torch.as_tensor(records.y)
    losses = [
        cross_entropy(torch.as_tensor(logits(m, records.x)), y, reduction="none") for m in models
    ]
    return int(torch.stack(losses).mean(dim=0).argmax())


def perturb(models: Sequence[nn.Sequential], x: Array, y: int, clip: bool) -> Array:
    """One record, made harder; the label stays."""
    perturbed: Array = perturb_many(models, x[None], np.array([y]), clip)[0]
    return perturbed


def perturb_many(models: Sequence[nn.Sequential], x: Array, y: Array, clip: bool) -> Array:
    """x_{i+1} = x_i + a sign(mean_j grad_x loss(shadow_j; x_i, y)), each record for itself.

    `clip` keeps the pixels in [0, 1], which the paper does not do.
    """
    import torch
    from torch.nn.functional import cross_entropy

    labels = torch.as_tensor(y)
    current = torch.as_tensor(x, dtype=torch.float32).clone()
    for _ in range(STEPS):
        current.requires_grad_(True)
        # A sum over records: the gradient at one does not depend on the others.
        losses = [cross_entropy(m.eval()(current), labels, reduction="sum") for m in models]
        (gradient,) = torch.autograd.grad(torch.stack(losses).mean(), current)
        current = (current + STEP * gradient.sign()).detach()
        if clip:
            current = current.clamp(0, 1)
    return np.asarray(current.numpy(), dtype=np.float32)
