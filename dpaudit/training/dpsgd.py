"""DP-SGD behind one function, whatever backend does the work."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.seeds import ALONE, stream
from dpaudit.training import backends
from dpaudit.training.isolation import one_thread
from dpaudit.training.job import GradientCanaries, Loss, TrainingJob, cross_entropy
from dpaudit.training.recipe import Recipe
from dpaudit.types import Array, Records


@dataclass(frozen=True)
class TrainedModel:
    """A trained model, and the products of its gradient canaries (`CanaryProducts`), if any."""

    model: nn.Sequential
    products: Array | None = None
    background: Array | None = None


def fit(
    recipe: Recipe,
    records: Records,
    seed: int,
    *,
    size: int | None = None,
    initial: Array | None = None,
    gradient_canaries: GradientCanaries | None = None,
    loss: Loss = cross_entropy,
) -> TrainedModel:
    """Train one model on one thread: a pure function of the arguments, if they name a backend.

    `size` is the public number of records that gives the sampling rate and the number of steps;
    both worlds must be given the same (default: the records' own number).
    `initial` is the flat vector of starting parameters.
    """
    _refuse_unfit(recipe, records, seed, loss)
    backend = backends.BACKENDS[backends.build(recipe, loss).name]
    size = len(records) if size is None else size
    one_thread()
    with ALONE, torch.random.fork_rng(devices=[]):
        fixed = recipe.training.init == "fixed"
        torch.manual_seed(recipe.init_seed if fixed else stream(seed, "init"))
        model = recipe.build()
        if initial is not None:
            # A copy: training would write into the caller's own array.
            start = torch.tensor(initial, dtype=torch.float32)
            _refuse_other_length("initial", "the initial parameters", len(start), model)
            nn.utils.vector_to_parameters(start, model.parameters())
        if gradient_canaries is not None:
            _refuse_unfit_canaries(gradient_canaries, model)
        torch.manual_seed(stream(seed, "descent"))
        products = backend.train(
            TrainingJob(
                model=model.train(),
                x=torch.as_tensor(records.x, dtype=torch.float32),
                y=torch.as_tensor(records.y),
                sample_rate=recipe.sample_rate(size),
                steps=recipe.steps(size),
                rate_per_sum=recipe.training.lr / recipe.expected_batch(size),
                clip=recipe.clip,
                noise_multiplier=recipe.noise_multiplier,
                seed=stream(seed, "descent"),
                loss=loss,
                gradient_canaries=gradient_canaries,
            )
        )
    return TrainedModel(model.eval(), *(products or ()))


def fit_many(
    recipe: Recipe, records: Records, seeds: Iterable[int], executor: Executor | None = None
) -> list[nn.Sequential]:
    """Models of one recipe on the same records, in the executor's processes if there is one."""
    one_thread()  # as in `fit`: what is done with the models here counts too
    seeds = list(seeds)
    jobs = ([recipe] * len(seeds), [records] * len(seeds), seeds)
    return [fitted.model for fitted in (executor.map if executor else map)(fit, *jobs)]


def _refuse_unfit(recipe: Recipe, records: Records, seed: int, loss: Loss) -> None:
    """Reject what would go wrong differently in every backend."""
    checks.refuse([checks.at_least("seed", seed, 0)])
    shape, y = tuple(records.x.shape[1:]), records.y
    if shape != tuple(recipe.shape):
        message = f"the records have the shape {shape}, and the recipe is for {recipe.shape}"
        raise _wrong_shape(message, "records", shape)
    # A user's own loss may take labels for anything.
    if loss is cross_entropy and len(y) and not 0 <= y.min() <= y.max() < recipe.classes:
        message = f"labels must be from 0 to {recipe.classes - 1}"
        raise BadInput(message, "out-of-range", option="labels")


def _refuse_unfit_canaries(canaries: GradientCanaries, model: nn.Module) -> None:
    g, inserted = canaries.directions, canaries.inserted
    if g.ndim != 2:
        message = f"the gradient canaries must be rows of a table, not {g.shape}"
        raise _wrong_shape(message, "directions", g.shape)
    _refuse_other_length("directions", "the gradient canaries", g.shape[1], model)
    if inserted.shape != (len(g),) or inserted.dtype != np.bool_:
        message = (
            f"inserted must have a boolean for each of the {len(g)} gradient canaries, "
            f"not {inserted.dtype} of {inserted.shape}"
        )
        raise _wrong_shape(message, "inserted", (inserted.dtype.name, inserted.shape))
    norms = np.linalg.norm(g, axis=1)
    # A longer one would show more than a claim allows of a record.
    others = norms[~np.isclose(norms, 1, rtol=0, atol=1e-5)]
    if len(others):
        length = float(others[0])
        message = f"the gradient canaries must be unit vectors, not {length:.6g} long"
        raise BadInput(message, "not-unit-length", option="directions", value=length)


def _refuse_other_length(option: str, name: str, length: int, model: nn.Module) -> None:
    wanted = sum(p.numel() for p in model.parameters())
    if length != wanted:
        raise _wrong_shape(f"{name} must have {wanted} values, not {length}", option, length)


def _wrong_shape(sentence: str, option: str, value: object) -> BadInput:
    return BadInput(sentence, "shape-mismatch", option=option, value=value)
