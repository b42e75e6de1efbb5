"""Organisations with data of their own, which exchange private learners and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.papers.ensemble import Weighting
from dpaudit.papers.ensemble.aggregation import Aggregate
from dpaudit.papers.ensemble.logistic_regression import PrivateLearner, minimise
from dpaudit.papers.ensemble.unit_rows import Rows
from dpaudit.types import Array


@dataclass(frozen=True)
class Organisation:
    """One of M + 1, with the data D^(m) that nobody else may see."""

    number: int
    rows: Rows

    def published(self, learner: PrivateLearner, draw: np.random.Generator) -> Array:
        """The learner that all others receive, w_m: one release, however many they are."""
        return np.asarray(learner.release(self.rows, [draw])[0])

    def local(self, lam: float) -> Array:
        """What it learns alone, without any noise, and keeps to itself."""
        return minimise(self.rows, lam)

    def aggregate(self, received: Array, weighting: Weighting) -> Aggregate:
        """What others have published, weighed by its own data.

        That uses its own data without noise: the aggregate is not private for them. It is for the
        data of the others, each of which had its part in one learner alone.
        """
        return weighting.aggregate(received, self.rows)


@dataclass(frozen=True)
class Exchange:
    """M + 1 organisations, each of which publishes once and receives from the M others.

    Their records are disjoint, so that epsilon holds for all of them together; to send one learner
    to M peers is one release.

    With n records in all, n0 of them the receiver's own, the paper's Theorem 4.1 bounds the excess
    risk of an aggregate with probability 1 - alpha by A2(lam) + (1/lam) (sqrt(M ln(2M/alpha)/(n -
    n0)) + sqrt(4M/(n - n0)) + C1 M ln(2M/alpha)/(n - n0)) + C2 M/(eps (n - n0)) + beta ln M/n0. It
    does not say what A2, C1 and C2 are, so that no number follows.
    """

    organisations: Sequence[Organisation]

    def __post_init__(self) -> None:
        if len(self.organisations) < 2:
            raise BadInput(
                "an exchange takes at least two organisations",
                "too-small",
                option="organisations",
                value=len(self.organisations),
            )

    @classmethod
    def of(cls, rows: Rows, nodes: int) -> Exchange:
        """Rows dealt out to so many organisations, as many to each."""
        return cls([Organisation(m, dealt) for m, dealt in enumerate(rows.dealt(nodes))])

    @cached_property
    def pooled(self) -> Rows:
        """The data of all together, which nobody has."""
        each = [organisation.rows for organisation in self.organisations]
        return Rows(np.concatenate([r.x for r in each]), np.concatenate([r.y for r in each]))

    def published(self, learner: PrivateLearner, draw: np.random.Generator) -> Array:
        """What every organisation publishes, (M + 1, d)."""
        return np.stack([each.published(learner, draw) for each in self.organisations])

    def aggregates(self, published: Array, weighting: Weighting) -> list[Aggregate]:
        """What each of them makes of the learners of the others."""
        return [
            each.aggregate(np.delete(published, m, axis=0), weighting)
            for m, each in enumerate(self.organisations)
        ]
