"""The game against Opacus: neighbouring data sets, its training in either, and what is seen of it.

The adversary has all that privacy promises to withstand: it knows every record but the canary,
chose where training starts, and sees every update that is applied. Records are few and the
network is small, so that a training takes milliseconds; how it is clipped, noised, sampled and
accounted for is Opacus' own in all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np
import torch
from torch.utils.data import TensorDataset

from dpaudit import accounting
from dpaudit.protocols import Mechanism
from dpaudit.seeds import derive, stream
from dpaudit.training.opacus import row_by_row
from dpaudit.types import About, Array, Canary, Claim, Observation, Pair, Records, Trial
from reproductions.opacus.training import DELTA, Trained, Training, network, train

LARGE = 10.0
"""A feature for which the gradient is seven times what it is clipped to."""

PICTURE = (3, 8, 8)


@dataclass(frozen=True)
class Game:
    """A training to be audited: how, on how many records of what kind, without the canary.

    Other records are `blank`, without a gradient; `opposed`, the canary's with the sign changed;
    or `aside`, whose small gradients have nothing to do with the canary's. `features` is a number,
    or 0 for pictures.
    """

    training: Training
    records: int
    others: str = "blank"
    features: int = 8

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a record."""
        return (1, 1, self.features) if self.features else PICTURE

    @property
    def parameters(self) -> int:
        """Of the network."""
        return sum(p.numel() for p in network(self.shape).parameters())

    def pair(self) -> Pair:
        """The data sets with and without the canary, and the gradients that are looked for."""
        canary = Canary(self._canary(), 1, "crafted", "a record whose gradient is clipped")
        x = np.zeros((self.records, *self.shape), np.float32)
        y = np.ones(self.records, np.int64)
        if self.others == "opposed":
            x[:] = -canary.x
        elif self.others == "aside":
            x[..., -1], y[:] = 1.0, 0
        out = Records(x, y)
        aims = {"aim": self._aim(canary.x, canary.y), "aside": self._aim(x[0], int(y[0]))}
        inn = out.plus(canary.x, canary.y)
        return Pair(out=out, inn=inn, canary=canary, test=out, given=aims)

    def _canary(self) -> Array:
        x = np.zeros(self.shape, np.float32)
        if self.features:
            x[..., 0] = LARGE
        else:
            # What lies first in memory where channels come last is little, and the rest large.
            x[:, : PICTURE[1] // 2], x[:, PICTURE[1] // 2 :] = 0.2, LARGE
        return x

    def _aim(self, x: Array, y: int) -> Array:
        """What a record of its own puts into a step, found without noise."""
        alone = replace(
            self.training,
            **{"noise_multiplier": 0.0, "batch_size": 1, "epochs": 1, "poisson_sampling": False},
            **{"target": None, "physical": None, "drawn": None, "class_weights": None},
        )
        (update,) = train(alone, network(self.shape), _dataset(x[None], np.array([y])), 0).updates
        return update.double().numpy()


class Opacus(Mechanism):
    """Opacus' own code, as a mechanism whose claim is its own accountant's."""

    trials_per_call = 20

    def __init__(self, game: Game) -> None:
        self.game = game

    def __repr__(self) -> str:
        return f"Opacus({self.game})"

    def about(self, pair: Pair) -> About:
        """Describe the adversary."""
        return About("chose the records and where training starts; sees every update")

    @cached_property
    def claim(self) -> Claim:
        """What the accountant says after a training; the larger, where the worlds have two."""
        pair, how = self.game.pair(), self.game.training
        whole = [self._whole(pair.out), self._whole(pair.inn)]
        (first,), (other,) = (trained.history for trained in whole)
        return Claim(
            epsilon=max(trained.epsilon for trained in whole),
            delta=DELTA,
            # Worlds that are accounted for in two ways have no curve in common.
            curve=accounting.curve(*first) if first == other else None,
            source=f"Opacus' {how.accountant} accountant",
        )

    def _whole(self, records: Records) -> Trained:
        """A training that came to its end."""
        tried = (self._train(records, derive(i, "claim")) for i in count())
        return next(trained for trained in tried if not trained.ended)

    def _train(self, records: Records, seed: int) -> Trained:
        dataset = _dataset(records.x, records.y)
        return train(self.game.training, network(self.game.shape), dataset, seed)

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """One training a trial."""
        return [self._seen(pair, trial) for trial in trials]

    def _seen(self, pair: Pair, trial: Trial) -> Observation:
        """How each update points, and how long the rest of it is; steps not taken are no numbers.

        Of what all records put in nothing is lost, and of the noise nothing that a likelihood
        depends on.
        """
        how = self.game.training
        made = self._train(pair.world(trial.world), stream(trial.seed, "torch")).updates
        steps = how.epochs * max(how.batches(len(r)) for r in (pair.out, pair.inn))
        axes = _axes(pair)
        seen = {"along": np.full((steps, len(axes)), np.nan), "rest": np.full(steps, np.nan)}
        if made:
            u = torch.stack(made).double().numpy()
            along = u @ axes.T
            seen["along"][: len(u)] = along
            seen["rest"][: len(u)] = np.maximum(0.0, (u**2).sum(1) - (along**2).sum(1))
        return seen


def _axes(pair: Pair) -> Array:
    """Unit vectors that span what canary and other records put in; the canary's first."""
    aims = [pair.given[name] for name in ("aim", "aside")]
    first = aims[0] / np.linalg.norm(aims[0])
    left = aims[1] - (aims[1] @ first) * first
    size = np.linalg.norm(left)
    return np.stack([first, left / size]) if size > 1e-3 else first[None]


def _dataset(x: Array, y: Array) -> TensorDataset:
    return TensorDataset(row_by_row(torch.tensor(x)), torch.tensor(y))
