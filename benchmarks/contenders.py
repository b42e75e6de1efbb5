"""What is timed: Opacus as its documentation has it, and this package's backends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import torch
from opacus import PrivacyEngine
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from workloads import BATCH, CLIP, NOISE, RATE, Workload

from dpaudit.training.backends import BACKENDS

PASSES = 1000
"""Of MC dropout on one record."""


class Opacus:
    """`make_private` with its hooks and its own Poisson loader, and the usual loop."""

    def __init__(self, workload: Workload) -> None:
        # It warns of its random generator, and of a hook on the first layer.
        warnings.filterwarnings("ignore", module="opacus")
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        model = workload.model(0)
        self._model, self._optimizer, self._loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
            data_loader=DataLoader(TensorDataset(workload.x, workload.y), batch_size=BATCH),
            noise_multiplier=NOISE,
            max_grad_norm=CLIP,
            poisson_sampling=True,
        )
        self._criterion = nn.CrossEntropyLoss()
        self._batches = self._endless()

    def _endless(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from self._loader

    def run(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            x, y = next(self._batches)
            self._optimizer.zero_grad()
            self._criterion(self._model(x), y).backward()
            self._optimizer.step()


class Backend:
    """One of this package's, by the function that production calls."""

    def __init__(self, name: str, workload: Workload) -> None:
        self._backend, self._workload = BACKENDS[name], workload
        self._model, self._runs = workload.model(0).eval(), 0

    def build(self) -> str | None:
        """Make what it needs; say why it is left out, if it is."""
        return self._backend.build(self._model, self._workload.shape)

    def run(self, steps: int) -> None:
        """Train a new model for some steps."""
        self._runs += 1
        self._backend.train(self._workload.job(steps, seed=self._runs))

    def predict(self) -> None:
        """One record's MC-dropout probabilities."""
        record = self._workload.x[:1].numpy()
        self._backend.mc_dropout(self._model, record, PASSES, self._runs)


def backends(workload: Workload) -> tuple[dict[str, Backend], dict[str, str]]:
    """Those that take the workload, and why the others do not."""
    taken, left_out = {}, {}
    for name in ("native", "torch"):
        backend = Backend(name, workload)
        if reason := backend.build():
            left_out[name] = reason
        else:
            taken[name] = backend
    return taken, left_out
