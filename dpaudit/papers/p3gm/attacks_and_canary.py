"""Attacks on a generator, on a mixture and on a second moment, and the canary `opposites`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.attacks.rules import FixedAttack, ThresholdAttack
from dpaudit.attacks.statistics import Statistic, released
from dpaudit.errors import BadInput
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Known, Observations, Pair, neighbours


def _minus(name: str) -> Statistic:
    def smaller(seen: Observations, known: Known) -> Array:
        return -np.asarray(seen[name], dtype=np.float64)

    return Statistic(f"minus {name}", frozenset({name}), smaller)


class Nearest(ThresholdAttack):
    """Says that the canary was in if a synthetic record is near to it.

    The distance of the nearest, for who gets synthetic records and nothing else. Chen, Yu, Zhang
    and Fritz, GAN-Leaks (2020).
    """

    def __init__(self) -> None:
        super().__init__(_minus("nearest"))


class Reconstruction(ThresholdAttack):
    """Says that the canary was in if the generator draws it well from where it is embedded.

    The squared error, for who gets the model. Hayes, Melis, Danezis and De Cristofaro, LOGAN
    (2019); Chen, Yu, Zhang and Fritz, GAN-Leaks (2020).
    """

    def __init__(self) -> None:
        super().__init__(_minus("reconstruction"))


class Elbo(ThresholdAttack):
    """Says that the canary was in if the model finds it likely, by the bound that it maximises.

    For who gets the model. Hilprecht, Harterich and Bernau, Monte Carlo and Reconstruction
    Membership Inference Attacks against Generative Models (2019).
    """

    def __init__(self) -> None:
        super().__init__(released("elbo"))


class Subspace(ThresholdAttack):
    """Says that the canary was in if the released directions hold much of it.

    The share of the canary's squared length in the subspace that records are projected to, for
    who gets the model.
    """

    def __init__(self) -> None:
        super().__init__(released("subspace"))


class Mixture(FixedAttack):
    """Says that the canary was in if the released parameters are likelier with it.

    For DP-EM, and whoever knows all records but does not know which of two was there: the
    log-likelihood ratio of all that every iteration released, the best score there is (Neyman and
    Pearson 1933). Nothing is chosen: all trials judge.
    """

    def __init__(self) -> None:
        needs = frozenset({"mixture_ratio"})
        super().__init__("mixture", Statistic("log likelihood ratio", needs, _mixture_ratio))


def _mixture_ratio(seen: Observations, known: Known) -> Array:
    """Return the log-likelihood ratio, of which large sizes are shown by their logarithm."""
    return np.asarray(np.arcsinh(np.asarray(seen["mixture_ratio"], dtype=np.float64)))


class SecondMoment(FixedAttack):
    """Says that the canary was out if the released second moment is too small to hold it.

    For DP-PCA. Wishart noise never lessens a second moment in any direction, so that one that is
    below that of D' somewhere, by its smallest eigenvalue, cannot have come from D': there are no
    errors on that side. Inside what both worlds can release the ratio is the same everywhere.
    Of Gaussian noise it is the log-likelihood ratio, the best score there is (Neyman and Pearson
    1933). Nothing is chosen: all trials judge.
    """

    any_of = frozenset({"gap", "moment_ratio"})

    def __init__(self) -> None:
        super().__init__("second-moment", Statistic("second moment", frozenset(), _moment_score))


def _moment_score(seen: Observations, known: Known) -> Array:
    """Return the smallest eigenvalue above the second moment of D', or the log-likelihood ratio."""
    return np.asarray(seen["gap" if "gap" in seen else "moment_ratio"], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Opposites(CanaryBuilder):
    """Two records that the mechanism keeps apart worst: D has the one, D' the other in its place.

    Neighbours by replacing one. Which two they are is the mechanism's to say; where it does not,
    D has an all-zero record and D' one that is bright where the other records are dark. The
    label is that of the pool's record whose place they take, in both.
    """

    opposites: Array | None = None

    def build(self, data: Data, seed: int) -> Pair:
        i = int(generator(seed, "canary", "opposites").integers(len(data.pool)))
        made = "one of the two records that the mechanism keeps apart worst; D has the other"
        out, inn = self.opposites if self.opposites is not None else _dark_and_bright(data)
        if self.opposites is None:
            made = "a record that is bright where others are dark; D has an empty one in its place"
        if out.shape != data.shape:
            problem = f"opposites of {out.shape} are no records of {data.shape}"
            raise BadInput(problem, "shape-mismatch", option="opposites", value=out.shape)
        canary = Canary(
            x=np.asarray(inn, dtype=np.float32),
            y=int(data.pool.y[i]),
            name="opposites",
            made=made,
            removed=i,
            original=np.asarray(out, dtype=np.float32),
            replaces=True,
        )
        return neighbours(data, canary)


def _dark_and_bright(data: Data) -> tuple[Array, Array]:
    """Return an empty record, and one that is 1 where the shadow set's mean is least."""
    mean = data.shadow.x.mean(axis=0)
    return np.zeros(data.shape), (mean <= np.quantile(mean, 0.25)).astype(np.float64)
