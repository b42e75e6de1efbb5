"""A training by Opacus as its users write it, with a window on every update that it makes."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from opacus import PrivacyEngine, privacy_engine
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

# The noise that reaches an epsilon takes seconds to find, and is the same in every trial.
privacy_engine.get_noise_multiplier = cache(privacy_engine.get_noise_multiplier)
logging.getLogger("opacus").setLevel(logging.ERROR)  # it warns of each empty batch

DELTA = 1e-5
CLASSES = 2
RATE = 1e-3
"""So small that no step changes how the next one is clipped: a gradient keeps its direction."""


@dataclass(frozen=True)
class Training:
    """What a user chooses, by the names that Opacus and torch have for it.

    `target` is the epsilon that `make_private_with_epsilon` is asked for, `physical` the size of
    the pieces that a `BatchMemoryManager` makes of a batch, `drawn` how many records a
    `WeightedRandomSampler` draws for an epoch.
    """

    noise_multiplier: float
    batch_size: int
    epochs: int
    grad_sample_mode: str = "hooks"
    poisson_sampling: bool = True
    loss_reduction: str = "mean"
    drop_last: bool = False
    accountant: str = "prv"
    class_weights: tuple[float, ...] | None = None
    channels_last: bool = False
    target: float | None = None
    physical: int | None = None
    drawn: int | None = None

    def batches(self, records: int) -> int:
        """Of an epoch, as torch's loader counts them."""
        drawn = records if self.drawn is None else self.drawn
        return drawn // self.batch_size if self.drop_last else math.ceil(drawn / self.batch_size)

    def divisor(self, records: int) -> int:
        """What Opacus divides a noisy sum by: made of the number of records, which is private."""
        return 1 if self.loss_reduction == "sum" else int(records / self.batches(records))

    def sizes(self, records: int) -> list[int]:
        """Of an epoch's batches that are not sampled but shuffled; all full but the last."""
        m, b = self.batches(records), self.batch_size
        return [min(b, records - b * i) for i in range(m)]


@dataclass(frozen=True)
class Trained:
    """What came of a training; `ended` where it broke off at an empty batch."""

    engine: Any
    updates: list[Tensor]
    ended: bool

    @property
    def epsilon(self) -> float:
        """What Opacus says that it has spent."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(self.engine.get_epsilon(DELTA))

    @property
    def history(self) -> list[tuple[float, float, int]]:
        """What its accountant has noted: noise multiplier, sampling rate, steps."""
        return [tuple(entry) for entry in self.engine.accountant.history]


def train(how: Training, model: nn.Module, dataset: TensorDataset, seed: int) -> Trained:
    """Train, and give back all updates as they were applied, noisy and scaled."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    if how.channels_last:
        model = model.to(memory_format=torch.channels_last)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        engine = PrivacyEngine(accountant=how.accountant)
        model, optimizer, criterion, loader = _private(how, engine, model, dataset)
        updates: list[Tensor] = []
        # Of torch's own optimiser, which steps only when a whole batch has been gone through.
        optimizer.original_optimizer.register_step_post_hook(
            lambda *_: updates.append(torch.cat([p.grad.flatten() for p in optimizer.params]))
        )
        ended = False
        try:
            for _ in range(how.epochs):
                with _in_pieces(how, loader, optimizer) as batches:
                    for x, y in batches:
                        if how.channels_last:
                            x = x.to(memory_format=torch.channels_last)
                        optimizer.zero_grad()
                        criterion(model(x), y).backward()
                        optimizer.step()
        except RuntimeError as error:
            if "Batch size must be positive" not in str(error):
                raise
            ended = True
    return Trained(engine, updates, ended)


def _private(how: Training, engine: Any, model: nn.Module, dataset: TensorDataset) -> Any:
    sampler = None
    if how.drawn is not None:
        sampler = WeightedRandomSampler(torch.ones(len(dataset)).tolist(), how.drawn)
    loader = DataLoader(
        *(dataset, how.batch_size),
        shuffle=sampler is None,
        sampler=sampler,
        drop_last=how.drop_last,
    )
    weights = None if how.class_weights is None else torch.tensor(how.class_weights)
    criterion = nn.CrossEntropyLoss(weights, reduction=how.loss_reduction)
    given = {
        "module": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=RATE),
        "criterion": criterion,
        "data_loader": loader,
        "max_grad_norm": 1.0,
        "grad_sample_mode": how.grad_sample_mode,
        "poisson_sampling": how.poisson_sampling,
        "loss_reduction": how.loss_reduction,
    }
    if how.target is None:
        made = engine.make_private(noise_multiplier=how.noise_multiplier, **given)
    else:
        asked = {"target_epsilon": how.target, "target_delta": DELTA, "epochs": how.epochs}
        made = engine.make_private_with_epsilon(**asked, **given)
    if how.grad_sample_mode == "ghost":
        return made
    private, optimizer, sampled = made
    return private, optimizer, criterion, sampled


@contextmanager
def _in_pieces(how: Training, loader: Any, optimizer: Any) -> Iterator[Any]:
    if how.physical is None:
        yield loader
        return
    with BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=how.physical, optimizer=optimizer
    ) as pieces:
        yield pieces


def network(shape: tuple[int, ...]) -> nn.Module:
    """Logistic regression, or of pictures one convolution that covers them; it starts at 0."""
    channels, height, width = shape
    layer: nn.Module = nn.Linear(channels * height * width, CLASSES, bias=False)
    ordered = [nn.Flatten(), layer]
    if height > 1:
        layer = nn.Conv2d(channels, CLASSES, (height, width), bias=False)
        ordered = [layer, nn.Flatten()]
    nn.init.zeros_(layer.weight)
    return nn.Sequential(*ordered)
