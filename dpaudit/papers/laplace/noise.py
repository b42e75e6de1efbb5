"""A number with Laplace noise, kept between its limits: Lemma 1, and what many of them leak.

    A(D) = min(f_max, max(f_min, f(D) + Lap(b))),  b = (f_max - f_min)/epsilon

is epsilon-DP if f(D) is between the limits, because clamping is post-processing. So printed, with
min and max the other way round, it is a constant: see `printed.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.protocols import CanaryBuilder
from dpaudit.seeds import generator
from dpaudit.types import Array, Canary, Data, Known, Observations, Pair, neighbours

# ----------------------------------------------------------------
# A number with Laplace noise, kept between its limits: Lemma 1, and what many of them leak.
#
#     A(D) = min(f_max, max(f_min, f(D) + Lap(b))),  b = (f_max - f_min)/epsilon
#
# is epsilon-DP if f(D) is between the limits, because clamping is post-processing. So printed, with
# min and max the other way round, it is a constant: see `printed.py`.


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


# ----------------------------------------------------------------
# Numbers that were released with Laplace noise, as likely in one world as in the other.


SEEN = frozenset({"noisy", "ratios", "trained"})


def _score(seen: Observations, known: Known) -> Array:
    """The log-likelihood ratio of what is seen, or how far it lies from D towards D'."""
    if "ratios" in seen:
        return np.asarray(np.asarray(seen["ratios"], np.float64).sum(axis=1))
    out, inn = (np.asarray(known[f"exact_{world}"], np.float64) for world in ("out", "in"))
    if "noisy" in seen:
        low, high, scale = (np.asarray(known[end]) for end in ("low", "high", "scale"))
        noisy = np.asarray(seen["noisy"], np.float64)
        return log_likelihood_ratio(noisy, out, inn, low, high, scale)
    return np.asarray(np.asarray(seen["trained"], np.float64) @ (inn - out))


class Laplace(ThresholdAttack):
    """Says that the canary was in if all released numbers together are likelier with it.

    For numbers that each have Laplace noise of their own: the joint log-likelihood ratio, the best
    score there is (Neyman and Pearson 1933), because the adversary knows what either world would
    release without noise. Of updates it is added up over all of them. Of parameters that noisy
    updates have led to, no ratio is known; their score is how far they lie in the direction in
    which the canary pulls, sum of (w' - w) times what is released.
    """

    def __init__(self) -> None:
        super().__init__(Statistic("laplace score", frozenset(), _score))
        self.any_of = SEEN


# ----------------------------------------------------------------
# A record that turns into its negative.


@dataclass(frozen=True)
class Negative(CanaryBuilder):
    """A record of the pool that is its negative in D', under another label; replaces one.

    Each of its values is moved to the far end of [0, 1]: 1 where it was below one half, and 0 where
    it was not. Of a dark picture that is a bright one, which no network expects: it moves many
    parameters at once, and means by as much as one record can.
    """

    def build(self, data: Data, seed: int) -> Pair:
        draw = generator(seed, "canary", "opposite")
        i = int(draw.integers(len(data.pool)))
        x, label = data.pool.x[i], int(data.pool.y[i])
        other = (label + int(draw.integers(1, data.classes))) % data.classes
        canary = Canary(
            x=(x < 0.5).astype(np.float32),
            y=other,
            name="negative",
            made=f"a record of the pool with the label {label}, which is its negative in D'",
            removed=i,
            original=x,
            replaces=True,
        )
        return neighbours(data, canary)
