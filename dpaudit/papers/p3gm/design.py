"""The settings by which a phased generator is fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.p3gm import em

MODELS = ("p3gm", "ae", "vae")
LIKELIHOODS = ("bernoulli", "gaussian", "narrow")
PCA = ("wishart", "gaussian")


@dataclass(frozen=True)
class AdamRecipe:
    """Steps of Adam on sums of clipped gradients, with noise s; s = 0 is no noise.

    Adam post-processes a noisy sum. `expected` is the public divisor of a sum.
    """

    count: int
    sample_rate: float
    expected: float
    lr: float
    clip: float = float("inf")
    noise_multiplier: float = 0.0


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
class GeneratorRecipe:
    """The settings by which a generator is fitted.

    From features `centre` is subtracted, then they are divided by `radius` and cut to the unit
    ball: public numbers, as all of this is.
    """

    network: Architecture
    first: FirstReleases
    steps: AdamRecipe
    radius: float = 1.0
    centre: float = 0.0
    pretraining: int = 300

    def __post_init__(self) -> None:
        problems = [checks.positive("radius", self.radius)]
        if self.steps.noise_multiplier and self.steps.clip == float("inf"):
            problem = "noise in DP-SGD needs a clip norm"
            problems.append(BadInput(problem, "needs-clip", option="clip"))
        checks.refuse(problems)

    @property
    def noisy(self) -> bool:
        """True if any phase has noise."""
        first, of_steps = self.first, self.steps.noise_multiplier
        return any((first.pca_noise, first.em_noise, first.label_noise, of_steps))

    @property
    def mu(self) -> float:
        """mu of all releases before DP-SGD, Gaussian mechanisms one after the other.

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
        """Return the number of values of z."""
        net = self.network
        return net.latent + (classes if net.label_length and net.model != "vae" else 0)


def without_noise(design: GeneratorRecipe) -> GeneratorRecipe:
    """Return the same design without privacy: PGM of P3GM, VAE of DP-VAE."""
    steps = replace(design.steps, noise_multiplier=0.0, clip=float("inf"))
    first = replace(design.first, pca_noise=0.0, em_noise=0.0, label_noise=0.0)
    return replace(design, first=first, steps=steps)
