"""The paper's experiment: how right learners are that were taught alone, privately, together.

Every organisation learns from its own records, with and without noise, publishes the former and
aggregates those of the others; all are asked about one common test set. Averages and deviations are
over organisations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpaudit.papers.ensemble import Weighting
from dpaudit.papers.ensemble.logistic_regression import PERTURBATIONS, minimise
from dpaudit.papers.ensemble.unit_rows import Rows
from dpaudit.seeds import generator
from dpaudit.types import Array
from reproductions.ensembles.exchange import Exchange


@dataclass(frozen=True)
class Accuracy:
    """The mean over organisations, and their deviation, which a figure shows as error bars."""

    mean: float
    std: float

    @classmethod
    def of(cls, each: Array) -> Accuracy:
        """Of an accuracy for each organisation."""
        return cls(float(np.mean(each)), float(np.std(each)))


@dataclass(frozen=True)
class Measured:
    """Accuracies on the common test set; of private learners and aggregates one for each epsilon.

    `pooled`: of one learner that is taught all data, without noise. `local`: of each one alone,
    without noise.
    """

    epsilons: Sequence[float]
    pooled: float
    local: Accuracy
    private: Sequence[Accuracy]
    aggregated: Sequence[Accuracy]


def measured(
    exchange: Exchange,
    test: Rows,
    epsilons: Sequence[float],
    lam: float,
    weighting: Weighting,
    seed: int,
    perturbation: str = "objective",
) -> Measured:
    """One run of the experiment; noise is drawn for each epsilon anew."""
    local = np.stack([each.local(lam) for each in exchange.organisations])
    private, aggregated = [], []
    for epsilon in epsilons:
        learner = PERTURBATIONS[perturbation](epsilon, lam)
        draw = generator(seed, "ensemble", "noise", repr(float(epsilon)))
        w = exchange.published(learner, draw)
        private.append(Accuracy.of(test.accuracy(w @ test.x.T)))
        scores = np.stack([a.scores(test.x) for a in exchange.aggregates(w, weighting)])
        aggregated.append(Accuracy.of(test.accuracy(scores)))
    return Measured(
        epsilons=list(epsilons),
        pooled=float(test.accuracy(minimise(exchange.pooled, lam) @ test.x.T)),
        local=Accuracy.of(test.accuracy(local @ test.x.T)),
        private=private,
        aggregated=aggregated,
    )
