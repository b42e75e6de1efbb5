"""A generator, or what it has generated: how well it knows the canary."""

from __future__ import annotations

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic, released
from dpaudit.types import Array, Known, Observations


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
