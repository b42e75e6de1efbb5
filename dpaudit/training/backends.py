"""The backends of DP-SGD, fastest first, each built and checked on the first use of a network.

A backend is checked against a loop over records, 32 of them with explicit dropout masks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.errors import BadInput
from dpaudit.seeds import ALONE
from dpaudit.training import bookkeeping, layers, native, networks, predict
from dpaudit.training.job import CanaryProducts, Loss, TrainingJob, cross_entropy
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Backend

SAMPLES, TOLERANCE = 32, 1e-4

ClippedSum = Callable[[nn.Sequential, Tensor, Tensor, float, Sequence[Tensor]], Array]
"""Model, records, labels, C and dropout masks to the flat sum of clipped gradients."""


def clipped_sum(
    model: nn.Sequential, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor]
) -> tuple[Array, Array]:
    """The sum of the records' clipped gradients, one record at a time, and their norms.

    `masks` has one tensor per dropout layer, of a row per record: True where a value is kept.
    """
    total, norms = np.zeros(sum(p.numel() for p in model.parameters())), np.zeros(len(y))
    for i in range(len(y)):
        h, kept = x[i : i + 1], iter(masks)
        for layer in layers.leaves(model):
            if isinstance(layer, nn.Dropout):
                h = h * next(kept)[i : i + 1] / (1 - layer.p)
            else:
                h = layer(h)
        loss = cross_entropy(h, y[i : i + 1]).sum()
        pieces = torch.autograd.grad(loss, list(model.parameters()))
        g = torch.cat([piece.flatten() for piece in pieces]).double().numpy()
        norms[i] = np.linalg.norm(g)
        total += g * min(1.0, clip / max(norms[i], np.finfo(float).tiny))
    return total, norms


def draw_masks(model: nn.Sequential, x: Tensor, generator: torch.Generator) -> list[Tensor]:
    """Random masks of the model's dropout layers for these records; at most half is dropped."""
    masks, h = [], x
    with torch.no_grad():
        for layer in layers.leaves(model):
            if isinstance(layer, nn.Dropout):
                drawn = torch.rand(h.shape, generator=generator)
                # With a rate near 1, masks would leave nothing to compare.
                masks.append(drawn >= min(layer.p, 0.5))
            else:
                h = layer(h)
    return masks


def failure(candidate: ClippedSum, model: nn.Sequential, shape: tuple[int, ...]) -> BadInput | None:
    """The error of a backend's clipped sum on random records, or None if it is small.

    Half of the records are clipped. The error is that of the whole sum, relative to it.
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.rand((SAMPLES, *shape), generator=generator)
    masks = draw_masks(model, x, generator)
    with torch.no_grad():
        classes = model(x[:1]).shape[1]
    y = torch.randint(classes, (SAMPLES,), generator=generator)
    _, norms = clipped_sum(model, x, y, 1.0, masks)
    clip = float(np.median(norms))
    expected, _ = clipped_sum(model, x, y, clip, masks)
    error = np.linalg.norm(candidate(model, x, y, clip, masks) - expected)
    # With a single class, all gradients are zero.
    error /= np.linalg.norm(expected) or 1.0
    if error <= TOLERANCE:
        return None
    clause = f"its gradients are {error:.1g} off those of a loop over records"
    return BadInput(clause, "wrong-gradients", option="backend", value=float(error))


def _opacus(job: TrainingJob) -> CanaryProducts | None:
    # Imported late: it takes seconds, which the other backends do without.
    from dpaudit.training import opacus

    return opacus.train(job)


@dataclass(frozen=True)
class Implementation:
    """The functions of one backend.

    `build` prepares a model for records of a shape, or returns the reason why it cannot;
    `clipped_sum` is checked on the first use of a network.
    """

    train: Callable[[TrainingJob], CanaryProducts | None]
    build: Callable[[nn.Sequential, tuple[int, ...]], BadInput | None] = lambda model, shape: None
    clipped_sum: ClippedSum | None = None
    mc_dropout: Callable[[nn.Sequential, Array, int, int], Array] = predict.mc_dropout
    any_loss: bool = True


BACKENDS: dict[str, Implementation] = {
    "native": Implementation(
        native.train, native.build, native.clipped_sum, native.mc_dropout, any_loss=False
    ),
    "torch": Implementation(
        bookkeeping.train, layers.refusal, bookkeeping.clipped_sum, bookkeeping.mc_dropout
    ),
    "opacus": Implementation(_opacus),
}

FASTEST = "dpaudit's own, the fastest"


def build(recipe: Recipe, loss: Loss = cross_entropy) -> Backend:
    """Build and check the recipe's backend or, for 'auto', the fastest that can train it here.

    The native one compiles a kernel, unless there is one. All is done once a process.
    """
    network, wanted = recipe.training.network, recipe.training.backend
    if wanted != "auto":
        if reason := _hindrance(wanted, recipe, loss):
            message = f"the {wanted} backend cannot train {network} here: {reason}"
            message += "; --backend auto takes one that can"
            raise BadInput(
                message, "unfit-network", option="backend", value=wanted, problems=[reason]
            )
        return Backend(wanted, "as configured")
    rejected: dict[str, BadInput] = {}
    for name in BACKENDS:
        if (reason := _hindrance(name, recipe, loss)) is None:
            return Backend(name, _reasons(rejected) or FASTEST)
        rejected[name] = reason
    message, problems = (
        f"no backend can train {network}: {_reasons(rejected)}",
        [*rejected.values()],
    )
    raise BadInput(message, "unfit-network", option="network", value=network, problems=problems)


def _reasons(rejected: Mapping[str, BadInput]) -> str:
    return "; ".join(f"not {name}: {reason}" for name, reason in rejected.items())


def _hindrance(name: str, recipe: Recipe, loss: Loss) -> BadInput | None:
    if loss is not cross_entropy and not BACKENDS[name].any_loss:
        clause = "it takes no loss but cross-entropy"
        return BadInput(clause, "unfit-loss", option="backend", value=name)
    network, dropout = recipe.training.network, recipe.training.dropout
    return _first_use(name, network, tuple(recipe.shape), recipe.classes, dropout)


@cache
def _first_use(
    name: str, network: str, shape: tuple[int, ...], classes: int, dropout: float
) -> BadInput | None:
    """Build and check a backend for a network; return the reason why it cannot train that."""
    backend = BACKENDS[name]
    with ALONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = networks.build(network, shape, classes, dropout)
        if hindrance := backend.build(model, shape):
            return hindrance
        return failure(backend.clipped_sum, model, shape) if backend.clipped_sum else None
