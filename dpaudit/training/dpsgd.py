"""DP-SGD behind one function, whatever backend does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass

import torch
from torch import nn

from dpaudit.errors import BadInput
from dpaudit.registry import unknown
from dpaudit.seeds import ALONE, stream
from dpaudit.training import networks, opacus
from dpaudit.training.descent import Descent, GradientCanary, Loss, cross_entropy
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Records

BACKENDS: dict[str, Callable[[Descent], Array | None]] = {"opacus": opacus.descend}


@dataclass(frozen=True)
class Fitted:
    """A trained model, and <u_t, g*> of every step where a gradient canary was watched."""

    model: nn.Sequential
    products: Array | None = None


def fit(
    recipe: Recipe,
    records: Records,
    seed: int,
    *,
    size: int | None = None,
    backend: str = "opacus",
    initial: Array | None = None,
    gradient_canary: GradientCanary | None = None,
    loss: Loss = cross_entropy,
) -> Fitted:
    """One model, a pure function of its arguments, on one torch thread.

    `size` is the public number of records that the sampling rate and the number of steps
    are made from; both worlds must be given the same (default: the records' own number).
    `initial` is the flat vector of starting parameters.
    """
    if backend not in BACKENDS:
        raise BadInput(unknown("backends", backend, list(BACKENDS)))
    size = len(records) if size is None else size
    # More threads would change the order of sums, and with it the last bits of the weights.
    torch.set_num_threads(1)
    with ALONE, torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.init_seed if recipe.init == "fixed" else stream(seed, "init"))
        model = networks.build(recipe.network, recipe.shape, recipe.classes, recipe.dropout)
        if initial is not None:
            # A copy: the descent would write into the caller's own array.
            start = torch.tensor(initial, dtype=torch.float32)
            nn.utils.vector_to_parameters(start, model.parameters())
        torch.manual_seed(stream(seed, "descent"))
        products = BACKENDS[backend](
            Descent(
                model=model.train(),
                x=torch.as_tensor(records.x),
                y=torch.as_tensor(records.y),
                sample_rate=recipe.sample_rate(size),
                steps=recipe.steps(size),
                rate_per_sum=recipe.lr / recipe.expected_batch(size),
                clip=recipe.clip,
                noise_multiplier=recipe.noise_multiplier,
                seed=stream(seed, "descent"),
                loss=loss,
                gradient_canary=gradient_canary,
            )
        )
    return Fitted(model.eval(), products)


def fit_many(
    recipe: Recipe, records: Records, seeds: Iterable[int], executor: Executor | None = None
) -> list[nn.Sequential]:
    """Models of one recipe on the same records, in the executor's processes if there is one."""
    torch.set_num_threads(1)  # as in `fit`: what is done with the models here counts too
    seeds = list(seeds)
    jobs = ([recipe] * len(seeds), [records] * len(seeds), seeds)
    return [fitted.model for fitted in (executor.map if executor else map)(fit, *jobs)]
