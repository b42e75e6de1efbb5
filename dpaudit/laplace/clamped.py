"""A number with Laplace noise, kept between its limits: Lemma 1, and what many of them leak.

    A(D) = min(f_max, max(f_min, f(D) + Lap(b))),  b = (f_max - f_min)/epsilon

is epsilon-DP if f(D) is between the limits, because clamping is post-processing. So printed, with
min and max the other way round, it is a constant: see `printed.py`.
"""

from __future__ import annotations

import numpy as np

from dpaudit.types import Array


def release(f: Array, low: Array, high: Array, scale: Array, draw: np.random.Generator) -> Array:
    """Every number with noise of its own scale, clamped to its limits."""
    return np.clip(f + draw.laplace(size=np.shape(f)) * scale, low, high)


def lower_mass(f: Array, low: Array, scale: Array) -> Array:
    """Pr(A = f_min) = exp((f_min - f)/b)/2, (10)."""
    return np.asarray(np.exp((low - f) / scale) / 2)


def upper_mass(f: Array, high: Array, scale: Array) -> Array:
    """Pr(A = f_max) = exp((f - f_max)/b)/2; (13) and (14) have the sign the other way round."""
    return np.asarray(np.exp((f - high) / scale) / 2)


def log_likelihood_ratio(
    released: Array, out: Array, inn: Array, low: Array, high: Array, scale: Array
) -> Array:
    """ln Pr(released | inn)/Pr(released | out), added up over the last axis.

    Noise is independent, so that the ratios of single numbers add up, and with them what they
    leak. A number at a limit says as much as all that lie beyond it: there the ratio is that of the
    masses. One without noise has none where both worlds agree.
    """
    b = np.where(scale > 0, scale, 1.0)
    inside = (np.abs(released - out) - np.abs(released - inn)) / b
    ratios = np.where(
        released <= low,
        (out - inn) / b,
        np.where(released >= high, (inn - out) / b, inside),
    )
    return np.asarray(np.where(out == inn, 0.0, ratios).sum(axis=-1))


def joint_epsilon(out: Array, inn: Array, scale: Array) -> float:
    """What all numbers together leak: sum of |f(D) - f(D')|/b, the largest log-ratio there is."""
    apart = np.abs(np.asarray(out, np.float64) - inn)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(apart > 0, apart / scale, 0.0).sum())
