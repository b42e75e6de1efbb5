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
    """Guess D' if a synthetic record is near to the canary.

    The distance of the nearest synthetic record, for an adversary who gets only synthetic records.
    Chen, Yu, Zhang and Fritz, GAN-Leaks (2020).
    """

    def __init__(self) -> None:
        super().__init__(_minus("nearest"))


class Reconstruction(ThresholdAttack):
    """Guess D' if the generator reconstructs the canary well from its embedding.

    The squared error, for an adversary who gets the model. Hayes, Melis, Danezis and De Cristofaro,
    LOGAN (2019); Chen, Yu, Zhang and Fritz, GAN-Leaks (2020).
    """

    def __init__(self) -> None:
        super().__init__(_minus("reconstruction"))


class Elbo(ThresholdAttack):
    """Guess D' if the model's evidence lower bound (ELBO) of the canary is high.

    For an adversary who gets the model. Hilprecht, Harterich and Bernau, Monte Carlo and
    Reconstruction Membership Inference Attacks against Generative Models (2019).
    """

    def __init__(self) -> None:
        super().__init__(released("elbo"))


class Subspace(ThresholdAttack):
    """Guess D' if the released directions contain much of the canary.

    The share of the canary's squared length in the subspace that records are projected to, for an
    adversary who gets the model.
    """

    def __init__(self) -> None:
        super().__init__(released("subspace"))


class Mixture(FixedAttack):
    """Guess D' if the released parameters are likelier with the canary.

    For DP-EM, and an adversary who knows all records but not which of two was there: the
    log-likelihood ratio of all releases of all iterations, the best possible score (Neyman and
    Pearson 1933). Nothing is chosen: all trials judge.
    """

    def __init__(self) -> None:
        needs = frozenset({"mixture_ratio"})
        super().__init__("mixture", Statistic("log likelihood ratio", needs, _mixture_ratio))


def _mixture_ratio(seen: Observations, known: Known) -> Array:
    """Return the log-likelihood ratio, of which large sizes are shown by their logarithm."""
    return np.asarray(np.arcsinh(np.asarray(seen["mixture_ratio"], dtype=np.float64)))


class SecondMoment(FixedAttack):
    """Guess D if the released second moment is too small to contain the canary.

    For DP-PCA. Wishart noise never reduces a second moment in any direction. A release below the
    moment of D' somewhere, by its smallest eigenvalue, cannot come from D', so there are no errors
    on that side. For all releases that both worlds can produce the ratio is the same. With Gaussian
    noise the score is the log-likelihood ratio, the best possible score (Neyman and Pearson 1933).
    Nothing is chosen: all trials judge.
    """

    any_of = frozenset({"gap", "moment_ratio"})

    def __init__(self) -> None:
        super().__init__("second-moment", Statistic("second moment", frozenset(), _moment_score))


def _moment_score(seen: Observations, known: Known) -> Array:
    """Return the smallest eigenvalue above the second moment of D', or the log-likelihood ratio."""
    return np.asarray(seen["gap" if "gap" in seen else "moment_ratio"], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Opposites(CanaryBuilder):
    """Two records that the mechanism separates worst: D has one, D' the other in its place.

    Neighbours by replacing one. The mechanism may choose the two records. Otherwise D has an
    all-zero record and D' a record that is bright where the other records are dark. Both have the
    label of the pool's record that they replace.
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
