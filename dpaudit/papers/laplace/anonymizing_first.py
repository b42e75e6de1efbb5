"""AnonymizingFirst: groups of similar records, and the mean of each with Laplace noise.

The paper only cites methods for it (Soria-Comas et al. 2014; Sanchez et al. 2016). This one orders
records by a total order that no data decide, cuts it into groups of k and releases their means,
which are epsilon-DP together. That replaces the records; whatever is trained on them is
post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.training import learned
from dpaudit.papers.laplace.canary import (
    TRAINING,
    Perceptron,
    accuracy,
    exact,
    foreseen,
    leak,
    noisy,
    of_world,
)
from dpaudit.protocols import Mechanism
from dpaudit.types import (
    IN,
    OUT,
    About,
    Array,
    Backend,
    Claim,
    Data,
    Known,
    Observation,
    Pair,
    Trial,
)

# ----------------------------------------------------------------
# AnonymizingFirst: groups of similar records, and the mean of each with Laplace noise.
#
# The paper only cites methods for it (Soria-Comas et al. 2014; Sanchez et al. 2016). This one order
# records by a total order that no data decide, cuts it into groups of k and releases their means,
# which are epsilon-DP together. That replaces the records; whatever is trained on them is
# post-processing.


@dataclass(frozen=True)
class Groups:
    """n records in groups of k; the last has what is left, too.

    `width` is the most that two records differ in, all columns added up: as many as there are
    columns, of which those of one category, one-hot, count 2 together.
    """

    records: int
    k: int
    width: float

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.records:
            raise BadInput(
                f"groups of {self.k} cannot be made of {self.records} records",
                "out-of-range",
                option="k",
                value=self.k,
            )

    @property
    def number(self) -> int:
        """Of groups."""
        return self.records // self.k

    @property
    def sensitivity(self) -> float:
        """What all means together change by at most, in L1: (n/k) (m/k).

        A record that moves from one end of the order to the other shifts one record out of every
        group, and one into it.
        """
        return self.number * self.width / self.k

    def scale(self, epsilon: float) -> float:
        """b = n m/(k^2 epsilon), for the joint release of all means."""
        return self.sensitivity / epsilon

    def sizes(self) -> Array:
        """Of the groups, in their order."""
        return np.diff(self._ends())

    def means(self, rows: Array) -> Array:
        """Of each group the mean of its records."""
        ordered = rows[order(rows)]
        return np.asarray(np.add.reduceat(ordered, self._ends()[:-1]) / self.sizes()[:, None])

    def _ends(self) -> Array:
        return np.append(np.arange(self.number) * self.k, self.records)


def order(rows: Array) -> Array:
    """Records by their distance to the origin, and those equally far by their columns."""
    return np.lexsort((*rows.T[::-1], (rows**2).sum(axis=1)))


def rows_of(x: Array, y: Array, classes: int) -> Array:
    """Records as rows of numbers in [0, 1], with their class, one-hot, at the end."""
    return np.hstack([np.clip(x.reshape(len(x), -1), 0, 1), np.eye(classes)[y]]).astype(np.float64)


def records_of(means: Array, sizes: Array, classes: int) -> tuple[Array, Array]:
    """What is trained on: each mean as often as it has records, under its likeliest class."""
    x = np.clip(means[:, :-classes], 0, 1)
    y = means[:, -classes:].argmax(axis=1)
    return np.repeat(x, sizes, axis=0), np.repeat(y, sizes)


# ----------------------------------------------------------------
# AnonymizingFirst: a network that learns from noisy means of groups, instead of from records.


class LaplaceAnonymizingFirst(Mechanism):
    """A network trained on noisy means of groups of similar records, instead of the records.

    Records, their class one-hot among the columns, are put in an order that no data decide (the
    distance to the origin), cut into groups of k, and replaced by the mean of their group with
    Laplace noise. A network is then trained on that, which is post-processing.

    The claim is epsilon for everything that is made of the means, so for the whole model. It holds,
    because the noise is that of the joint release: a replaced record may shift one record out of
    each of n/k groups, each mean by m/k in all, and the noise has the scale n m/(k^2 epsilon).

    The flaw is elsewhere: so much noise leaves little to learn from, unless groups are so large
    that their means say little. The paper only cites how it anonymizes. To sort each column by
    itself needs far less noise (range/k), but covers only the sorted means; who links them to rows
    again, as such methods do, also releases the rank of each record, which nothing protects.

    k: records in a group; left out, about half of the pool, so that there are two. trained: train a
    network on the means in every trial, too, to tell its accuracy; hidden, width and decay are its
    own. The audit sees the means, of which a network could only show less.

    Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; its report is in
    Japanese); Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, Enhancing Data Utility in
    Differential Privacy via Microaggregation-based k-Anonymity (2014).
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "negative",
        "attacks": ("laplace",),
        "models": 4000,
    }

    def __init__(
        self,
        data: Data,
        epsilon: float = 1.0,
        training: Perceptron = Perceptron(),
        seed: int = 0,
        k: int | None = None,
        trained: bool = False,
    ) -> None:
        n = len(data.pool)
        checks.refuse(
            [
                checks.positive("epsilon", epsilon),
                None if k is None else checks.whole("k", k, 1, n),
            ]
        )
        self.course = training.course(data, seed)
        self.epsilon, self.classes, self.trained = epsilon, data.classes, trained
        self.trials_per_call = 20 if trained else 1000  # few, where each trains a network
        # Two records differ in their class by 2: one column more and one less.
        self.groups = Groups(n, k or max(1, n // 2), width=math.prod(data.shape) + 2)

    def __repr__(self) -> str:
        told = ("course", "groups", "epsilon", "trained")
        return f"LaplaceAnonymizingFirst({', '.join(f'{t}={getattr(self, t)!r}' for t in told)})"

    @classmethod
    def unused_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, str]:
        return (
            {} if settings["trained"] else dict.fromkeys(TRAINING, "on means (--set trained=true)")
        )

    # ------------------------------------------------------------ what is promised

    @cached_property
    def claim(self) -> Claim:
        """Epsilon for all means together, and so for whatever is trained on them."""
        return Claim(
            epsilon=self.epsilon,
            delta=0.0,
            unit="whole model",
            adjacency="replace",
            source="Laplace mechanism on all means together",
            trials="models" if self.trained else "releases",
        )

    backend = Backend("numpy", "the paper's training; trials differ in their noise")

    def about(self, pair: Pair) -> About:
        """Describe the adversary and how much this pair leaks in truth."""
        return About(
            adversary="observer: has the noisy means that the network learns from, and knows them "
            "without noise in either world",
            deployment="between these two worlds all means together leak epsilon "
            f"{leak(self.known(pair)):.4g}, which is known exactly; a network that is trained on "
            "them can only show less",
            breaks="Look for what breaks the claim: records that are not in [0, 1], an order that "
            "other records decide, or the noise's scale.",
        )

    # ------------------------------------------------------------ the game

    def known(self, pair: Pair) -> Known:
        """What the adversary has of a pair: the means of either world without noise."""
        if (known := foreseen(pair)) is not None:
            return known
        out, inn = (
            self.groups.means(rows_of(*of_world(pair, world), self.classes)).reshape(-1)
            for world in (OUT, IN)
        )
        free, scale = np.full(len(out), np.inf), self.groups.scale(self.epsilon)
        return exact(out, inn, -free, free, np.full(len(out), scale))

    def example(self) -> Observation:
        """What is seen of a trial, but for its numbers."""
        columns = self.course.network.nodes[0] + self.classes
        return {"noisy": np.zeros(self.groups.number * columns)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """The noisy means of a trial's world and, if one is trained, a network's accuracy."""
        seen = self.known(pair)
        return [self._play(pair, seen, trial) for trial in trials]

    def _play(self, pair: Pair, seen: Known, trial: Trial) -> Observation:
        released = noisy(seen, trial)
        if not self.trained:
            return {"noisy": released}
        network, learnt = self.course.network, self.network_of(released)
        return {"noisy": released, "accuracy": accuracy(network, learnt, pair.test)}

    def network_of(self, released: Array) -> Array:
        """The parameters of a network that has learned from noisy means alone."""
        means = released.reshape(self.groups.number, -1)
        return learned(self.course, *records_of(means, self.groups.sizes(), self.classes), None)
