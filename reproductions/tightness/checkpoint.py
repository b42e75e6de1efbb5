"""Trained models and kits of canaries: what one run shows of a training that leaks, or does not.

    python -m reproductions.tightness.checkpoint [--canaries 500] [--repetitions 3] [--json FILE]

A network that has learned digits by heart must show more than 2, assuming nothing, and one trained
with epsilon 1 less than 1. Each repetition has a kit, coins, a training and noise of its own. The
way is a user's: make a kit, add its records, train, save a checkpoint, audit that.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

KINDS = ("mislabelled", "blank", "random", "adv")
NETWORK, BATCH, RATE, EPOCHS = "mlp", 64, 3e-3, 120
CLAIM = (1.0, 1e-5)
HEAD = (
    f"{'training':<22}{'canaries':<13}{'bound':>7}{'by curve':>10}{'AUC':>7}{'accuracy':>10}  bar"
)


@dataclass(frozen=True)
class Case:
    """A way to train, and on which side of what number its bound is to be."""

    name: str
    train: Callable[[Any, int], Any]
    bar: float
    above: bool

    def verdict(self, bound: float) -> str:
        """The bar, and whether it is met."""
        met = bound > self.bar if self.above else bound < self.bar
        return f"{'>' if self.above else '<'} {self.bar:g} {'met' if met else 'MISSED'}"


@dataclass(frozen=True)
class Measured:
    """What one audit found."""

    case: str
    kind: str
    repetition: int
    bound: float
    by_curve: float
    auc: float
    accuracy: float
    bar: str


def by_heart(data: Any, seed: int) -> Any:
    """A network that fits its training set as far as it goes, without any privacy."""
    import torch
    from torch.nn.functional import cross_entropy

    from dpaudit.training import networks

    torch.manual_seed(seed)
    model = networks.build(NETWORK, data.shape, data.classes, 0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    x, y = torch.as_tensor(data.pool.x), torch.as_tensor(data.pool.y)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()
    return model


def privately(data: Any, seed: int) -> Any:
    """The same network by DP-SGD, with the noise that claims epsilon 1."""
    from dpaudit.config.settings import Privacy, Training
    from dpaudit.mechanisms.dpsgd import DPSGD
    from dpaudit.training.dpsgd import fit

    epsilon, delta = CLAIM
    target = DPSGD(data, Privacy(epsilon, delta=delta), Training(20, network=NETWORK, dropout=0.0))
    return fit(target.recipe, data.pool, seed).model


CASES = (
    Case("by heart, no privacy", by_heart, bar=2.0, above=True),
    Case("DP-SGD, epsilon 1", privately, bar=1.0, above=False),
)


def audited(case: Case, kind: str, canaries: int, repetition: int, folder: Path) -> Measured:
    """One kit, one training, one checkpoint, one audit."""
    import torch

    import dpaudit as dp
    from dpaudit.checkpoint import kits
    from dpaudit.checkpoint.audit import CheckpointRequest, audit
    from dpaudit.checkpoint.candidates import of_kit
    from dpaudit.checkpoint.models import QuerySettings, query
    from dpaudit.seeds import derive
    from dpaudit.types import Records

    torch.set_num_threads(1)
    seed = derive(repetition, "checkpoint", case.name, kind) >> 32
    kit = kits.make("digits", folder / f"{case.name} {kind} {repetition}", kind, canaries, seed)
    data = dp.data.load("digits")
    added = np.load(kit.path / "add_to_training.npz")
    x = np.concatenate([data.pool.x, added["x"]])
    y = np.concatenate([data.pool.y, added["y"]])
    model = case.train(replace(data, pool=Records(x, y)), seed).eval()
    torch.save(model.state_dict(), kit.path / "model.pt")
    subject = of_kit(kits.read(kit.path), kit.about.commitment)
    said = query(kit.path / "model.pt", subject, QuerySettings(NETWORK)).outputs
    found = audit(CheckpointRequest(CLAIM), subject, case.name, said)
    right = model(torch.as_tensor(data.test.x)).argmax(dim=1).numpy() == data.test.y
    free, by_curve = found.bounds
    return Measured(
        case.name,
        kind,
        repetition,
        free.epsilon,
        by_curve.epsilon,
        found.risk.auc,
        float(right.mean()),
        case.verdict(free.epsilon),
    )


def measure(kinds: tuple[str, ...], canaries: int, repetitions: int) -> Iterator[Measured]:
    """Every way to train with every kind of canaries."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            for kind in kinds:
                for repetition in range(repetitions):
                    yield audited(case, kind, canaries, repetition, Path(folder))


@click.command()
@click.option("--canaries", type=click.IntRange(10), default=500, show_default=True)
@click.option("--kind", multiple=True, type=click.Choice(KINDS), default=("mislabelled", "random"))
@click.option("--repetitions", type=click.IntRange(1), default=3, show_default=True)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the numbers here.")
def main(canaries: int, kind: tuple[str, ...], repetitions: int, file: Path | None) -> None:
    """Audit every training, and hold the bound that assumes nothing against its bar."""
    click.echo(f"digits, {NETWORK}, kits of {canaries} canaries; 95 %, delta 1e-5; one run each\n")
    click.echo(HEAD)
    found = []
    for one in measure(kind, canaries, repetitions):
        found.append(one)
        click.echo(
            f"{one.case:<22}{one.kind:<13}{one.bound:7.2f}{one.by_curve:10.2f}{one.auc:7.3f}"
            f"{100 * one.accuracy:8.1f} %  {one.bar}"
        )
    if file:
        file.write_text(json.dumps([vars(one) for one in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
