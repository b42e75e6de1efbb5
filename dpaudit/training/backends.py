"""The clipped sum in the obvious way, which every faster one must agree with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from dpaudit.errors import BadInput
from dpaudit.seeds import ALONE
from dpaudit.training import bookkeeping, native, networks, predict
from dpaudit.training.networks import leaves
from dpaudit.training.recipe import Descent, Loss, Recipe, Seen, cross_entropy
from dpaudit.types import Array


def clipped_sum(
    model: nn.Sequential, x: Tensor, y: Tensor, clip: float, masks: Sequence[Tensor]
) -> tuple[Array, Array]:
    """The sum of the records' clipped gradients, one record at a time, and their norms.

    `masks` has one tensor per dropout layer, of a row per record: True where a value is kept.
    """
    total, norms = np.zeros(sum(p.numel() for p in model.parameters())), np.zeros(len(y))
    for i in range(len(y)):
        h, kept = x[i : i + 1], iter(masks)
        for layer in leaves(model):
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
    """Random masks of the model's dropout layers for these records, of half the values at most."""
    masks, h = [], x
    with torch.no_grad():
        for layer in leaves(model):
            if isinstance(layer, nn.Dropout):
                drawn = torch.rand(h.shape, generator=generator)
                # Of a rate near 1, masks would leave nothing to look at.
                masks.append(drawn >= min(layer.p, 0.5))
            else:
                h = layer(h)
    return masks


# ----------------------------------------------------------------
# A backend's check of itself, on the first use of a network.


SAMPLES, TOLERANCE = 32, 1e-4

ClippedSum = Callable[[nn.Sequential, Tensor, Tensor, float, Sequence[Tensor]], Array]
"""Model, records, labels, C and dropout masks to the flat sum of clipped gradients."""


def failure(fast_sum: ClippedSum, model: nn.Sequential, shape: tuple[int, ...]) -> BadInput | None:
    """What is wrong with a backend's clipped sum on such records, or None where nothing is.

    Half of the random records are clipped, and dropout has explicit masks. The error is that of
    the whole sum, relative to it.
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
    error = np.linalg.norm(fast_sum(model, x, y, clip, masks) - expected)
    # Of a single class, all gradients are zero.
    error /= np.linalg.norm(expected) or 1.0
    if error <= TOLERANCE:
        return None
    told = f"its gradients are {error:.1g} off those of a loop over records"
    return BadInput(told, "wrong-gradients", option="backend", value=float(error))


# ----------------------------------------------------------------
# The implementations of DP-SGD, fastest first, built and checked on first use.


def _takes_all(model: nn.Sequential, shape: tuple[int, ...]) -> BadInput | None:
    return None


def _opacus(job: Descent) -> Seen | None:
    # Imported late: it takes seconds, which the other backends do without.
    from dpaudit.training import opacus

    return opacus.descend(job)


@dataclass(frozen=True)
class Backend:
    """What one implementation offers.

    `build` makes what it needs for a model on such records, or says what hinders that here;
    `clipped_sum` is what it is checked by on the first use of a network.
    """

    descend: Callable[[Descent], Seen | None]
    build: Callable[[nn.Sequential, tuple[int, ...]], BadInput | None] = _takes_all
    clipped_sum: ClippedSum | None = None
    mc_dropout: Callable[[nn.Sequential, Array, int, int], Array] = predict.mc_dropout
    any_loss: bool = True


BACKENDS: dict[str, Backend] = {
    "native": Backend(
        native.descend, native.build, native.clipped_sum, native.mc_dropout, any_loss=False
    ),
    "torch": Backend(
        bookkeeping.descend, bookkeeping.refusal, bookkeeping.clipped_sum, bookkeeping.mc_dropout
    ),
    "opacus": Backend(_opacus),
}


FASTEST = "dpaudit's own, the fastest"


@dataclass(frozen=True)
class Built:
    """The name of a backend that works here, and why it is that one."""

    name: str
    reason: str


def build(recipe: Recipe, loss: Loss = cross_entropy) -> Built:
    """Build and check the recipe's backend or, for 'auto', the fastest that can train it here.

    The native one compiles a kernel, unless there is one. All is done once a process.
    """
    network, wanted = recipe.training.network, recipe.training.backend
    if wanted == "auto":
        passed: dict[str, BadInput] = {}
        for name in BACKENDS:
            if (why := _hindrance(name, recipe, loss)) is None:
                return Built(name, _told(passed) or FASTEST)
            passed[name] = why
        raise BadInput(
            f"no backend can train {network}: {_told(passed)}",
            "unfit-network",
            option="network",
            value=network,
            problems=list(passed.values()),
        )
    if why := _hindrance(wanted, recipe, loss):
        raise BadInput(
            f"the {wanted} backend cannot train {network} here: {why}; "
            "--backend auto takes one that can",
            "unfit-network",
            option="backend",
            value=wanted,
            problems=[why],
        )
    return Built(wanted, "as configured")


def _told(passed: dict[str, BadInput]) -> str:
    """Those that were passed over, each with the reason."""
    return "; ".join(f"not {name}: {why}" for name, why in passed.items())


def _hindrance(name: str, recipe: Recipe, loss: Loss) -> BadInput | None:
    if loss is not cross_entropy and not BACKENDS[name].any_loss:
        return BadInput(
            "it knows no loss but cross-entropy", "unfit-loss", option="backend", value=name
        )
    network, dropout = recipe.training.network, recipe.training.dropout
    return _first_use(name, network, tuple(recipe.shape), recipe.classes, dropout)


@cache
def _first_use(
    name: str, network: str, shape: tuple[int, ...], classes: int, dropout: float
) -> BadInput | None:
    """Build and check a backend for a network; return what keeps it from training that."""
    backend = BACKENDS[name]
    with ALONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = networks.build(network, shape, classes, dropout)
        if hindrance := backend.build(model, shape):
            return hindrance
        return failure(backend.clipped_sum, model, shape) if backend.clipped_sum else None
