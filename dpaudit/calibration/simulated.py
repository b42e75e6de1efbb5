"""Mechanisms of known epsilon, and simulated audits of them.

A trial releases one number, larger where the canary is in. What an audit shows can be compared
with the truth. Each mechanism releases the best score there is, so that no attack on it could show
more.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from dpaudit.accounting import LEAST_NOISE, gaussian_epsilon
from dpaudit.accounting.curves import DPSGDFamily, PureFamily
from dpaudit.estimators.trials import Trials
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack
from dpaudit.seeds import generator
from dpaudit.types import IN, OUT, Array, Curve, DPSGDCurve, GaussianCurve, Known, Observations

T = TypeVar("T")

SAMPLED = DPSGDCurve(0.05, 100, LEAST_NOISE * DPSGDFamily.steps / 1638)
"""The subsampled mechanism. Its noise multiplier, 1.0002, is one that the estimators try."""

SAMPLES = 16
"""MC-dropout draws of a trial."""

KNOWN: Known = {
    "label": np.array(1),
    "sample_rate": np.array(1.0),
    "noise_multiplier": np.array(1.0),
}
"""The canary is of the second of two classes; the number is an update of a full batch."""

SHOWN = frozenset({"values", "logits", "mc", "mean", "std", "updates", "moved", "step"})
"""The names of the observations of a trial."""


class KnownMechanism(ABC):
    """A mechanism whose epsilon is known exactly.

    `curves` are the trade-off curves that it may rightly claim; without one it claims a bare
    (epsilon, delta).
    """

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def curves(self) -> tuple[Curve, ...]:
        return ()

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Return the least epsilon that holds at `delta`."""

    @abstractmethod
    def draw(self, worlds: Array, generator: np.random.Generator) -> Array:
        """Return what is released in a trial of each of the worlds, independently."""


def mechanisms(delta: float) -> tuple[KnownMechanism, ...]:
    """Return the mechanisms of a calibration: no leak first, then those that leak."""
    gaussian = KnownGaussian(brentq(lambda mu: gaussian_epsilon(mu, delta) - 4.0, 1e-3, 32.0))
    return NoLeak(), gaussian, KnownLaplace(1.0), KnownRandomizedResponse(1.0), Subsampled(SAMPLED)


@dataclass(frozen=True)
class NoLeak(KnownMechanism):
    """The same release in both worlds, for which any claimed curve holds."""

    name = "no leak"
    curves = (GaussianCurve(mu=1.0), SAMPLED)

    def epsilon(self, delta: float) -> float:
        return 0.0

    def draw(self, worlds: Array, generator: np.random.Generator) -> Array:
        return generator.normal(size=len(worlds))


@dataclass(frozen=True)
class KnownGaussian(KnownMechanism):
    """A number of sensitivity `mu` with standard Gaussian noise."""

    mu: float

    name = "Gaussian"

    @property
    def curves(self) -> tuple[Curve, ...]:
        return (GaussianCurve(self.mu),)

    def epsilon(self, delta: float) -> float:
        return gaussian_epsilon(self.mu, delta)

    def draw(self, worlds: Array, generator: np.random.Generator) -> Array:
        return np.asarray(generator.normal(size=len(worlds)) + self.mu * (worlds == IN))


@dataclass(frozen=True)
class KnownLaplace(KnownMechanism):
    """A number of sensitivity `pure` with standard Laplace noise, so of that epsilon at delta 0.

    Its divergence is d(e) = 1 - exp((e - pure)/2), solved here for e.
    """

    pure: float

    name = "Laplace"

    def epsilon(self, delta: float) -> float:
        return max(0.0, self.pure + 2 * math.log1p(-delta))

    def draw(self, worlds: Array, generator: np.random.Generator) -> Array:
        return np.asarray(generator.laplace(size=len(worlds)) + self.pure * (worlds == IN))


@dataclass(frozen=True)
class KnownRandomizedResponse(KnownMechanism):
    """The world itself with probability e^pure/(1+e^pure), else the other one.

    Each score is tied with half of the others, the hardest case for rank tests. With probability
    `spent` it releases the world without noise instead: no (pure, spent)-DP mechanism leaks more
    (Kairouz, Oh and Viswanath 2015).
    """

    pure: float
    spent: float = 0.0

    @property
    def name(self) -> str:
        return "randomized response" + (f", delta {self.spent:g}" if self.spent else "")

    def epsilon(self, delta: float) -> float:
        return PureFamily(self.spent).epsilon(self.pure, delta)

    def draw(self, worlds: Array, generator: np.random.Generator) -> Array:
        lies = generator.random(len(worlds)) > 1 / (1 + math.exp(-self.pure))
        sure = generator.random(len(worlds)) < self.spent
        return np.where(sure, 3.0 * worlds - 1.0, np.where(lies, 1.0 - worlds, 1.0 * worlds))


@dataclass(frozen=True)
class Subsampled(KnownMechanism):
    """Steps of Gaussian noise, in each of which the canary takes part with a small probability.

    What all steps release is summed up by its log-likelihood ratio, the best score (Neyman and
    Pearson 1933). Its epsilon is that of the curve rounded down, so that no alarm is missed.
    """

    curve: DPSGDCurve

    name = "subsampled Gaussian"

    @property
    def curves(self) -> tuple[Curve, ...]:
        return (self.curve,)

    def epsilon(self, delta: float) -> float:
        family = DPSGDFamily(self.curve.sample_rate, self.curve.steps)
        return family.epsilon(self.curve.noise_multiplier, delta)

    def draw(self, worlds: Array, generator: np.random.Generator) -> Array:
        q, s = self.curve.sample_rate, self.curve.noise_multiplier
        shape = len(worlds), self.curve.steps
        taken = (generator.random(shape) < q) & (worlds == IN)[:, None]
        x = s * generator.normal(size=shape) + taken
        ratios = np.log1p(q * np.expm1((2 * x - 1) / (2 * s**2)))
        return np.asarray(ratios.sum(axis=1))


@dataclass(frozen=True)
class SimulatedRun:
    """`trials` of each world, in turn, and one training with as many canaries in all."""

    mechanism: KnownMechanism
    trials: int
    seed: int
    samples: int = SAMPLES

    @cached_property
    def worlds(self) -> Array:
        """The worlds of the trials."""
        return np.tile([OUT, IN], self.trials)

    @cached_property
    def seen(self) -> Observations:
        """The released number in the form of a network's outputs, which is post-processing.

        It is released as it is; as an update or a move of the parameters along the canary's
        gradient; as a logit, so that the canary's loss falls with it; and as T draws of
        sigmoid(number + noise), like MC dropout, if an attack uses them.
        """
        draw = generator(self.seed, "trials")
        z = self.mechanism.draw(self.worlds, draw)
        along = {"updates": z[:, None], "moved": z, "step": z}
        logits = np.stack([np.zeros(len(z)), z], axis=1)
        seen = {"values": z[:, None], "logits": logits, **along}
        if not self.samples:
            return seen
        p = expit(z[:, None] + draw.normal(size=(len(z), self.samples)))
        return with_statistics({**seen, "mc": np.stack([1 - p, p], axis=2)})

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, made: Callable[[], T]) -> T:
        """Return what several methods share, made for the first of them."""
        if key not in self._kept:
            self._kept[key] = made()
        kept: T = self._kept[key]
        return kept

    def of(self, name: str, attack: Attack) -> Trials:
        """Return the trials as an attack sees them, the same for all estimators."""
        features = self.once(name, lambda: attack.features(self.seen, KNOWN))
        return Trials(features, self.worlds, name)

    @cached_property
    def one_training(self) -> tuple[Array, Array]:
        """One training: what is released of each canary, and the coins that put them in."""
        draw = generator(self.seed, "one run")
        coins = draw.integers(0, 2, size=2 * self.trials)
        return self.mechanism.draw(coins, draw), coins
