"""Canaries that shadow models or the initial parameters help to craft.

Shadow models are the adversary's own, trained by the target's recipe on data disjoint from D.
Their mean loss tells which record a model would find hardest; the sign of their mean gradient
tells how to make one harder. Both are as in the audit of Bayesian networks that dpaudit starts
from: ten models, forty steps of 0.01, no norm constraint.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpaudit.canaries.records import draw, pool_canary
from dpaudit.errors import BadInput
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import derive, generator
from dpaudit.types import Array, Canary, Data, Pair, Records, neighbours

if TYPE_CHECKING:
    from torch import nn

    from dpaudit.training.recipe import Recipe

SHADOWS, STEPS, STEP = 10, 40, 0.01


def train_shadows(
    recipe: Recipe, data: Data, seed: int, executor: Executor | None = None
) -> list[nn.Sequential]:
    """Train the shadow models; all canaries of a run's seed get the same ones."""
    from dpaudit.training.dpsgd import fit_many

    if (dtype := data.shadow.x.dtype).kind != "f":
        message = f"shadow models train on floats, and the records are {dtype}; take a canary "
        message += "without shadow models, such as static, random or mislabelled"
        raise BadInput(message, "wrong-type", option="data", value=str(dtype))
    seeds = [derive(seed, "shadow", j) for j in range(SHADOWS)]
    return fit_many(recipe, data.shadow, seeds, executor)


def hardest(models: Sequence[nn.Sequential], records: Records) -> int:
    """The index of the record with the largest mean loss over the models."""
    import torch
    from torch.nn.functional import cross_entropy

    from dpaudit.training.predict import logits

    y = torch.as_tensor(records.y)
    losses = [
        cross_entropy(torch.as_tensor(logits(m, records.x)), y, reduction="none") for m in models
    ]
    return int(torch.stack(losses).mean(dim=0).argmax())


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


def noisy_pair(
    models: Sequence[nn.Sequential], data: Data, i: int, clip: bool, name: str, made: str
) -> Pair:
    """The pair whose canary is record `i` of the pool with adversarial noise; the label stays."""
    (x,) = perturb_many(models, data.pool.x[i : i + 1], data.pool.y[i : i + 1], clip)
    canary = pool_canary(data, i, name, made, x=x, original=data.pool.x[i])
    return neighbours(data, canary)


@dataclass(frozen=True)
class ShadowCanary(CanaryBuilder):
    """A builder that needs shadow models; the executor trains them."""

    recipe: Recipe
    executor: Executor | None = None

    def shadows(self, data: Data, seed: int) -> list[nn.Sequential]:
        """Train the shadow models."""
        return train_shadows(self.recipe, data, seed, self.executor)


@dataclass(frozen=True)
class MaxLoss(ShadowCanary):
    """The record of the pool with the largest mean loss over ten shadow models.

    D is the pool without it, D' the whole pool. Such a record has the largest gradients, so
    a model that saw it differs most from one that did not.

    Data set 3 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def build(self, data: Data, seed: int) -> Pair:
        models = self.shadows(data, seed)
        i = hardest(models, data.pool)
        made = f"the record with the largest mean loss over {len(models)} shadow models"
        return neighbours(data, pool_canary(data, i, "maxloss", made))


@dataclass(frozen=True)
class AdvRandom(ShadowCanary):
    """A random record with adversarial noise against ten shadow models.

    D is the pool without the record, D' has its noisy version. It is never the
    record of `random`. Noise: forty sign steps of 0.01 up the mean shadow loss, the
    label kept, without a norm constraint; `clip` keeps the pixels in [0, 1].

    Data set 2 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    clip: bool = False

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "adv-random")
        models = self.shadows(data, seed)
        made = f"a random record with adversarial noise from {len(models)} shadow models"
        return noisy_pair(models, data, i, self.clip, "adv-random", made)


@dataclass(frozen=True)
class AdvMaxLoss(ShadowCanary):
    """The record with the largest shadow loss, with adversarial noise.

    The clean record is in neither data set: D is the pool without it, D' is D with the noisy
    version. Noise: forty sign steps of 0.01 up the mean loss of ten shadow models, the label kept,
    without a norm constraint; `clip` keeps the pixels in [0, 1].

    Data set 4 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    clip: bool = False

    def build(self, data: Data, seed: int) -> Pair:
        models = self.shadows(data, seed)
        i = hardest(models, data.pool)
        made = f"the record with the largest mean loss over {len(models)} shadow models"
        made += ", with adversarial noise from them"
        return noisy_pair(models, data, i, self.clip, "adv-maxloss", made)


@dataclass(frozen=True, eq=False)
class Blank(CanaryBuilder):
    """An all-zero record, added to the whole pool.

    It resembles no other record, so a model's answer on it comes from the canary alone. Its label
    is random. If the adversary knows the initial parameters, it is the label that they find least
    likely: its gradient is then large, and clipping cuts it to the full norm.

    Annamalai and De Cristofaro, Nearly Tight Black-Box Auditing of Differentially Private Machine
    Learning (2024).
    """

    recipe: Recipe | None = None
    initial: Array | None = None

    def build(self, data: Data, seed: int) -> Pair:
        x, made = np.zeros(data.shape, dtype=np.float32), "an all-zero record under "
        if self.recipe is None or self.initial is None:
            label = generator(seed, "canary", "blank").integers(data.classes)
            made += "a random label"
        else:
            from dpaudit.training.gradients import network
            from dpaudit.training.predict import logits

            label = logits(network(self.recipe, self.initial), x[None])[0].argmin()
            made += "the label that the initial parameters find least likely"
        pair = neighbours(data, Canary(x, int(label), "blank", made))
        return pair if self.initial is None else replace(pair, given={"initial": self.initial})
