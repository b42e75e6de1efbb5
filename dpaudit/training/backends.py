"""The implementations of DP-SGD, fastest first, built and checked on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn

from dpaudit.errors import BadInput
from dpaudit.seeds import ALONE
from dpaudit.training import bookkeeping, native, networks, predict
from dpaudit.training.descent import Descent, Loss, Seen, cross_entropy
from dpaudit.training.recipe import Recipe
from dpaudit.training.selfcheck import ClippedSum, failure
from dpaudit.types import Array


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
