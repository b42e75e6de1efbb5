"""Clamped Laplace noise on single numbers, what they leak together, and the attack that reads it.

    A(D) = min(f_max, max(f_min, f(D) + Lap(b))),  b = (f_max - f_min)/epsilon

is epsilon-DP if f(D) is between the limits, because clamping is post-processing (Lemma 1). The
paper prints it with min and max exchanged, which is a constant.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from dpaudit.attacks.rules import ThresholdAttack
from dpaudit.attacks.statistics import Statistic
from dpaudit.papers.laplace.network import Network
from dpaudit.protocols import Mechanism
from dpaudit.types import IN, OUT, Array, Known, Observation, Observations, Pair, Trial

UNITS = {"model": "whole model", "parameter": "each parameter"}
PROMISES = ("theorem", "composed")

EXACT = {OUT: "exact_out", IN: "exact_in"}
"""Names of the numbers that either world would release without noise."""


def release(f: Array, low: Array, high: Array, scale: Array, draw: np.random.Generator) -> Array:
    """Return every number with noise of its own scale, clamped to its limits."""
    return np.clip(f + draw.laplace(size=np.shape(f)) * scale, low, high)


def log_likelihood_ratio(
    released: Array, out: Array, inn: Array, low: Array, high: Array, scale: Array
) -> Array:
    """ln Pr(released | inn)/Pr(released | out), summed over the last axis.

    Noise is independent, so the ratios of single numbers add up, and what they leak with them. A
    number at a limit has the ratio of the masses beyond it. One without noise that is the same in
    both worlds has none.
    """
    b = np.where(scale > 0, scale, 1.0)
    inside = (np.abs(released - out) - np.abs(released - inn)) / b
    above = np.where(released >= high, (inn - out) / b, inside)
    ratios = np.where(released <= low, (out - inn) / b, above)
    return np.asarray(np.where(out == inn, 0.0, ratios).sum(axis=-1))


def joint_epsilon(out: Array, inn: Array, scale: Array) -> float:
    """sum of |f(D) - f(D')|/b, the largest log-ratio of all numbers together."""
    apart = np.abs(np.asarray(out, np.float64) - inn)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(apart > 0, apart / scale, 0.0).sum())


def leak(known: Known) -> float:
    """Return the joint epsilon of the two worlds of a pair."""
    return joint_epsilon(known[EXACT[OUT]], known[EXACT[IN]], known["scale"])


def stored_knowledge(pair: Pair) -> Known | None:
    """Return what was computed of a pair before; None if nothing was."""
    return pair.given if pair.given.keys() >= set(EXACT.values()) else None


class NoisyNumbers(Mechanism):
    """A mechanism whose trials release the same numbers of a world, each with noise of its own."""

    network: Network
    """The network whose accuracy is measured."""

    @abstractmethod
    def exact(self, pair: Pair) -> tuple[Array, ...]:
        """Return the numbers of D and of D', their lower and upper limits, and their scales."""

    @abstractmethod
    def network_parameters(self, released: Array) -> Array | None:
        """Return the parameters that released numbers give the network; None if there is none."""

    def known(self, pair: Pair) -> Known:
        """Return the numbers of either world without noise, their limits and their scales."""
        if (known := stored_knowledge(pair)) is not None:
            return known
        return dict(zip((*EXACT.values(), "low", "high", "scale"), self.exact(pair), strict=True))

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        known = self.known(pair)
        return [self._observe(pair, known, trial) for trial in trials]

    def _observe(self, pair: Pair, known: Known, trial: Trial) -> Observation:
        draw = np.random.default_rng(trial.seed)
        f = known[EXACT[trial.world]]
        noisy = release(f, known["low"], known["high"], known["scale"], draw)
        parameters = self.network_parameters(noisy)
        if parameters is None:
            return {"noisy": noisy}
        return {"noisy": noisy, "accuracy": self.network.accuracy(parameters, pair.test)}


class Laplace(ThresholdAttack):
    """Guess D' if all released numbers together are likelier with the canary.

    For numbers with independent Laplace noise: the joint log-likelihood ratio, the best possible
    score (Neyman and Pearson 1933), because the adversary knows what either world would release
    without noise. For updates it is the sum over all updates. For parameters after noisy updates no
    ratio is known; their score is how far they lie in the direction in which the canary pulls, sum
    of (w' - w) times the release.
    """

    def __init__(self) -> None:
        super().__init__(Statistic("laplace score", frozenset(), _score))
        self.any_of = frozenset({"noisy", "ratios", "trained"})


def _score(seen: Observations, known: Known) -> Array:
    """Return the log-likelihood ratio of what is seen, or its projection on D' less D."""
    if "ratios" in seen:
        return np.asarray(np.asarray(seen["ratios"], np.float64).sum(axis=1))
    out, inn = (np.asarray(known[name], np.float64) for name in EXACT.values())
    if "noisy" in seen:
        low, high, scale = (np.asarray(known[end]) for end in ("low", "high", "scale"))
        noisy = np.asarray(seen["noisy"], np.float64)
        return log_likelihood_ratio(noisy, out, inn, low, high, scale)
    return np.asarray(np.asarray(seen["trained"], np.float64) @ (inn - out))
