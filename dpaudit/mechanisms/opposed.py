"""What P3GM's mechanisms have in common: records that nobody has, and noise for a claim."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from dpaudit.accounting import gaussian_epsilon
from dpaudit.types import Array, Data


def darkest(data: Data, count: int) -> Array:
    """The places of the values that are least in the shadow set's mean, which is public."""
    mean = data.shadow.x.reshape(len(data.shadow), -1).mean(axis=0)
    return np.argsort(mean, kind="stable")[:count]


def solved(epsilon: float, delta: float) -> float:
    """The mu of Gaussian noise that spends epsilon, or hardly less, at delta."""
    high = 1.0
    while gaussian_epsilon(high, delta) <= epsilon:
        high *= 2
    low = high
    while gaussian_epsilon(low, delta) > epsilon:
        low /= 2
    mu = float(brentq(lambda m: gaussian_epsilon(m, delta) - epsilon, low, high, xtol=1e-12))
    # Rounding may leave it a hair above.
    return mu * (1 - 1e-9)
