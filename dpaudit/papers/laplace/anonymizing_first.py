"""AnonymizingFirst: groups of similar records, and the mean of each with Laplace noise.

The paper only cites methods for it (Soria-Comas et al. 2014; Sanchez et al. 2016). This one orders
records by a total order that no data decide, cuts it into groups of k and releases their means,
which are epsilon-DP together. That replaces the records; whatever is trained on them is
post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.canary import world_rows
from dpaudit.papers.laplace.noise import NoisyNumbers, leak
from dpaudit.papers.laplace.training import NETWORK_SETTINGS, Perceptron, train
from dpaudit.protocols import repr_of
from dpaudit.types import IN, OUT, About, Array, Backend, Claim, Data, Observation, Pair


@dataclass(frozen=True)
class Groups:
    """n records in groups of k; the last group also has the remaining ones.

    `width` is the largest L1 distance of two records: the number of columns, of which those of
    one category, one-hot, count 2 together.
    """

    records: int
    k: int
    width: float

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.records:
            problem = f"groups of {self.k} cannot be made of {self.records} records"
            raise BadInput(problem, "out-of-range", option="k", value=self.k)

    @property
    def number(self) -> int:
        """The number of groups."""
        return self.records // self.k

    @property
    def sensitivity(self) -> float:
        """(n/k) (m/k), the largest L1 change of all means together.

        A record that moves from one end of the order to the other shifts one record out of every
        group, and one into it.
        """
        return self.number * self.width / self.k

    def scale(self, epsilon: float) -> float:
        """b = n m/(k^2 epsilon), for the joint release of all means."""
        return self.sensitivity / epsilon

    def sizes(self) -> Array:
        """Return the number of records of each group, in their order."""
        return np.diff(self._ends())

    def means(self, rows: Array) -> Array:
        """Return the mean record of each group."""
        ordered = rows[order(rows)]
        return np.asarray(np.add.reduceat(ordered, self._ends()[:-1]) / self.sizes()[:, None])

    def _ends(self) -> Array:
        return np.append(np.arange(self.number) * self.k, self.records)


def order(rows: Array) -> Array:
    """Order records by their distance to the origin, and equal ones by their columns."""
    return np.lexsort((*rows.T[::-1], (rows**2).sum(axis=1)))


def rows_of(x: Array, y: Array, classes: int) -> Array:
    """Return records as rows of numbers in [0, 1], with their class, one-hot, at the end."""
    return np.hstack([np.clip(x.reshape(len(x), -1), 0, 1), np.eye(classes)[y]]).astype(np.float64)


def records_of(means: Array, sizes: Array, classes: int) -> tuple[Array, Array]:
    """Return each mean as often as its group has records, in its likeliest class."""
    x = np.clip(means[:, :-classes], 0, 1)
    y = means[:, -classes:].argmax(axis=1)
    return np.repeat(x, sizes, axis=0), np.repeat(y, sizes)


class LaplaceAnonymizingFirst(NoisyNumbers):
    """A network trained on noisy means of groups of similar records.

    Records, with their class one-hot among the columns, are ordered by their distance to the
    origin, which does not depend on other data, and cut into groups of k. Each record is replaced
    by the mean of its group with Laplace noise. Training on the means is post-processing.

    The claim is epsilon for all means together, and so for the whole model. It holds, because the
    noise is that of the joint release: a replaced record may shift one record out of each of n/k
    groups, each mean by m/k in total, and the noise has the scale n m/(k^2 epsilon).

    The flaw is utility: with this noise little can be learned, unless groups are so large that
    their means say little. The paper only cites its anonymization. Sorting each column alone needs
    far less noise (range/k), but protects only the sorted means. Linking them to rows again, as
    such methods do, also releases the unprotected rank of each record.

    k: records in a group; by default about half of the pool, so that there are two groups. trained:
    also train a network on the means in every trial, for its accuracy; hidden, width and decay are
    its settings. The audit sees the means; a network can only show less.

    Sei and Ohsuga, Privacy-Preserving Publication of Deep Neural Networks (2016; its report is in
    Japanese); Soria-Comas, Domingo-Ferrer, Sanchez and Martinez, Enhancing Data Utility in
    Differential Privacy via Microaggregation-based k-Anonymity (2014).
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "negative",
        "attacks": ("laplace",),
        "models": 4000,
    }
    backend = Backend("numpy", "the paper's training; trials differ in their noise")

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
            [checks.positive("epsilon", epsilon), None if k is None else checks.whole("k", k, 1, n)]
        )
        self.own_recipe = training.recipe(data, seed)
        self.network = self.own_recipe.network
        self.epsilon, self.classes, self.trained = epsilon, data.classes, trained
        self.trials_per_call = 20 if trained else 1000  # few, where each trains a network
        # Two records differ in their class by 2: one column more and one less.
        self.groups = Groups(n, k or max(1, n // 2), width=math.prod(data.shape) + 2)

    def __repr__(self) -> str:
        return repr_of(self, names=("own_recipe", "groups", "epsilon", "trained"))

    @classmethod
    def unused_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, str]:
        why = "on means (--set trained=true)"
        return {} if settings["trained"] else dict.fromkeys(NETWORK_SETTINGS, why)

    @cached_property
    def claim(self) -> Claim:
        """Epsilon for all means together, and so for any network trained on them."""
        return Claim(
            epsilon=self.epsilon,
            delta=0.0,
            unit="whole model",
            adjacency="replace",
            source="Laplace mechanism on all means together",
            trials="models" if self.trained else "releases",
        )

    def about(self, pair: Pair) -> About:
        return About(
            adversary="observer: has the noisy means that the network learns from, and knows them "
            "without noise in either world",
            deployment="Between these two worlds all means together leak exactly epsilon "
            f"{leak(self.known(pair)):.4g}. A network that is trained on them can only show less.",
            breaks="Look for the cause: records that are not in [0, 1], an order that "
            "other records decide, or the noise's scale.",
        )

    def exact(self, pair: Pair) -> tuple[Array, ...]:
        """Return the means of either world without noise; they have no limits."""
        out, inn = (
            self.groups.means(rows_of(*world_rows(pair, w), self.classes)).reshape(-1)
            for w in (OUT, IN)
        )
        free, scale = np.full(len(out), np.inf), self.groups.scale(self.epsilon)
        return out, inn, -free, free, np.full(len(out), scale)

    def network_parameters(self, released: Array) -> Array | None:
        """Train a network on noisy means alone, if one is requested."""
        if not self.trained:
            return None
        means = released.reshape(self.groups.number, -1)
        return train(self.own_recipe, *records_of(means, self.groups.sizes(), self.classes), None)

    def example(self) -> Observation:
        return {"noisy": np.zeros(self.groups.number * (self.network.nodes[0] + self.classes))}
