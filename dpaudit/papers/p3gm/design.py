"""The steps of a training by Adam, with noise or without."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.p3gm import em
from dpaudit.seeds import generator
from dpaudit.types import Array, Records


@dataclass(frozen=True)
class Steps:
    """Of Adam, on sums of gradients that are each clipped; without noise where s is 0.

    What Adam makes of a noisy sum is post-processing. `expected` is the public divisor of a sum.
    """

    count: int
    sample_rate: float
    expected: float
    lr: float
    clip: float = float("inf")
    noise_multiplier: float = 0.0


# ----------------------------------------------------------------
# How a phased generator is fitted.


MODELS = ("p3gm", "ae", "vae")
LIKELIHOODS = ("bernoulli", "gaussian", "narrow")
PCA = ("wishart", "gaussian")


@dataclass(frozen=True)
class Architecture:
    """The network that is learned.

    `p3gm` learns the variance of q(z|x) with the decoder, `ae` has it fixed at 0, `vae` has
    neither the phases nor their noise. With a `label_length` labels are not projected with the
    features, but have directions of their own, so long beside features of unit length.
    """

    model: str = "p3gm"
    latent: int = 10
    hidden: int = 100
    likelihood: str = "bernoulli"
    label_length: float = 0.0

    def __post_init__(self) -> None:
        checks.refuse(
            [
                checks.one_of("model", self.model, MODELS),
                checks.at_least("latent", self.latent, 1),
                checks.at_least("hidden", self.hidden, 1),
                checks.one_of("likelihood", self.likelihood, LIKELIHOODS),
                checks.in_range("label_length", self.label_length, 0, 10),
            ]
        )


@dataclass(frozen=True)
class FirstReleases:
    """The releases before DP-SGD. Noise of 0 is no noise.

    `pca_noise` is epsilon_p of Wishart noise, else s_p.
    """

    components: int
    iterations: int
    pca: str = "gaussian"
    pca_noise: float = 0.0
    em: str = "safe"
    em_noise: float = 0.0
    label_noise: float = 0.0

    def __post_init__(self) -> None:
        variants = tuple(em.VARIANTS)
        checks.refuse([checks.one_of("pca", self.pca, PCA), checks.one_of("em", self.em, variants)])


@dataclass(frozen=True)
class Design:
    """The settings by which a generator is fitted.

    From features `centre` is subtracted, then they are divided by `radius` and cut to the unit
    ball: public numbers, as all of this is.
    """

    network: Architecture
    first: FirstReleases
    steps: Steps
    radius: float = 1.0
    centre: float = 0.0
    pretraining: int = 300

    def __post_init__(self) -> None:
        wanting = self.steps.noise_multiplier and self.steps.clip == float("inf")
        checks.refuse(
            [
                checks.positive("radius", self.radius),
                BadInput("noise in DP-SGD needs a clip norm", "needs-clip", option="clip")
                if wanting
                else None,
            ]
        )

    @property
    def noisy(self) -> bool:
        """Whether noise is asked for anywhere."""
        first, of_steps = self.first, self.steps.noise_multiplier
        return any((first.pca_noise, first.em_noise, first.label_noise, of_steps))

    @property
    def mu(self) -> float:
        """Of all that is released before DP-SGD: Gaussian mechanisms one after the other.

        It holds for Gaussian noise in DP-PCA and safe DP-EM. Without noise it is infinite; labels'
        shares that have none are not released.
        """
        first = self.first
        of_labels = 1 / first.label_noise if first.label_noise else 0.0
        if self.network.model == "vae":
            return of_labels
        if not (first.pca_noise and first.em_noise):
            return math.inf
        releases = first.iterations * em.VARIANTS[first.em].releases(first.components)
        return math.hypot(of_labels, 1 / first.pca_noise, math.sqrt(releases) / first.em_noise)

    def width(self, classes: int) -> int:
        """Values of z."""
        net = self.network
        return net.latent + (classes if net.label_length and net.model != "vae" else 0)


def without_noise(design: Design) -> Design:
    """The same generator without privacy: PGM of P3GM, VAE of DP-VAE."""
    steps = replace(design.steps, noise_multiplier=0.0, clip=float("inf"))
    first = replace(design.first, pca_noise=0.0, em_noise=0.0, label_noise=0.0)
    return replace(design, first=first, steps=steps)


# ----------------------------------------------------------------
# Labels as a block of each row, and how many records of each are drawn.


def with_labels(records: Records, classes: int) -> Array:
    """Records in rows, each followed by its label as a block of zeros with a one."""
    flat = np.asarray(records.x, dtype=np.float64).reshape(len(records), -1)
    return np.concatenate([flat, np.eye(classes)[records.y]], axis=1)


def proportions(records: Records, classes: int, noise: float, seed: int) -> Array:
    """The labels' shares; their counts have noise of s sqrt(2), what replacing one moves."""
    counts = np.bincount(records.y, minlength=classes).astype(np.float64)
    counts += noise * np.sqrt(2) * generator(seed, "labels").normal(size=classes)
    counts = np.maximum(counts, 1.0)
    return np.asarray(counts / counts.sum())


def shared(shares: Array, n: int) -> Array:
    """Whole numbers of n by proportion: the largest remainders are rounded up."""
    exact = shares * n
    whole = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - whole), kind="stable")[: n - whole.sum()]
    whole[most] += 1
    return np.asarray(whole)


# ----------------------------------------------------------------
# Linear algebra on one thread: the same last bits whatever the machine, and no crowded cores.


def one_thread() -> AbstractContextManager[object]:
    """While it is entered numpy's products and eigenvalues take one thread, as torch's do."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
