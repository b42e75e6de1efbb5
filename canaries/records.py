"""Canaries that are ordinary records, chosen or labelled by chance; and the null."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Adjacency, Array, Canary, Data, Pair, neighbours

TURNS = ("random", "adv-random", "mislabelled", "none", "static")


def draw(data: Data, seed: int, kind: str) -> int:
    """A random index of the pool; kinds take turns in one order, so that no two share a record."""
    order = generator(seed, "canary").permutation(len(data.pool))
    return int(order[TURNS.index(kind)])


def pool_canary(data: Data, i: int, name: str, made: str, **other: Any) -> Canary:
    """The canary that is record `i` of the pool, which D does without, but for `other` fields."""
    canary = Canary(data.pool.x[i], int(data.pool.y[i]), name, made, removed=i)
    return replace(canary, **other)


@dataclass(frozen=True)
class Random(CanaryBuilder):
    """A random record of the pool, as it is.

    D is the pool without it, D' the whole pool. The weakest canary: the risk of an average record.

    Data set 1 of Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private
    Bayesian Neural Network.
    """

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "random")
        return neighbours(data, pool_canary(data, i, "random", "a random record of the pool"))


@dataclass(frozen=True)
class Mislabelled(CanaryBuilder):
    """A random record of the pool under a random wrong label.

    D is the pool without the record, D' has it mislabelled. Needs no shadow models, and no
    other record teaches a model the wrong label.
    """

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "mislabelled")
        right = int(data.pool.y[i])
        wrong = 1 + int(generator(seed, "canary", "wrong label").integers(data.classes - 1))
        made = f"a random record of the pool (class {right}) under a wrong label"
        y = (right + wrong) % data.classes
        return neighbours(data, pool_canary(data, i, "mislabelled", made, y=y))


@dataclass(frozen=True)
class Static(CanaryBuilder):
    """A record with random extreme values (the least or the largest) and any label.

    It takes the place of a random record: D is the pool without that record, D' is as large as the
    pool. No other record teaches a model its label, and its gradient is large: it changes a
    training without clipping far more, and too little noise cannot hide it. Needs no shadow models.

    The two values are the data's bounds, if these are declared (`Data.bounds`), and 0 and 1 for
    other data in [0, 1]: images, tables that are scaled by --bounds. For other data the domain is
    unknown, and the values lie outside the pool's by its range: 0 and 30 for values from 10 to 20.
    So the audit detects code that takes its clipping bounds from the data, which differ in D and
    D'. Code that relies on a domain without clipping to it needs the domain declared. Integers,
    such as tokens, stay within the pool's own.
    """

    def build(self, data: Data, seed: int) -> Pair:
        flip = generator(seed, "canary", "static")
        coins = flip.random(data.shape) < 0.5
        low, high = _ends(data)
        canary = Canary(
            x=np.where(coins, low, high),
            y=int(flip.integers(data.classes)),
            name="static",
            made=f"values of {float(low):g} and {float(high):g} at random under a random label",
            removed=draw(data, seed, "static"),
        )
        return neighbours(data, canary)


def _ends(data: Data) -> tuple[Array, Array]:
    """The two values, in the pool's type."""
    x = data.pool.x
    low, high = x.min(), x.max()
    if data.bounds is not None:
        low, high = data.bounds
    elif x.dtype.kind == "f" and low >= 0 and high <= 1:
        low, high = 0, 1
    elif x.dtype.kind == "f":
        limits = np.finfo(x.dtype)
        low, high = float(low), float(high)
        reach = high - low or 1.0
        low, high = np.clip([low - reach, high + reach], limits.min, limits.max)
    return x.dtype.type(low), x.dtype.type(high)


@dataclass(frozen=True, eq=False)
class Replaced(CanaryBuilder):
    """A record of the pool that has another label in D'; neighbours by replacing one.

    For claims that hold if one record, or one user's data, is replaced. The two labels are those
    that the mechanism separates worst, if it names them; otherwise they are random.
    """

    label_pair: Array | None = None
    """The two labels, of D and of D'."""

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "replaced")
        labels = self.label_pair
        if labels is None:
            labels = draw.choice(data.classes, 2, replace=False)
        label, other = (int(y) for y in labels)
        candidates = np.flatnonzero(data.pool.y == label)
        if not len(candidates):
            message = f"no record of the pool has the label {label}; take other data"
            raise BadInput(message, "label-missing", value=label)
        i = int(draw.choice(candidates))
        made = f"a record of the pool, which has the label {label} in D and another in D'"
        return neighbours(data, pool_canary(data, i, "replaced", made, y=other, replaces=True))


@dataclass(frozen=True)
class Null(CanaryBuilder):
    """No canary: D' is D, so a valid audit certifies an epsilon of 0.

    The models are queried on a random record of the pool, which is in both worlds. This is the null
    check of an audit: an estimate above 0 here comes from selection alone. It is the null of any
    claim, for one record added or one replaced.
    """

    adjacency: Adjacency = "add-remove"

    def build(self, data: Data, seed: int) -> Pair:
        i = draw(data, seed, "none")
        made = "both worlds are the same; the models are asked about a record of both"
        other = {"removed": None, "kind": "nothing", "replaces": self.adjacency == "replace"}
        return neighbours(data, pool_canary(data, i, "none", made, **other))
