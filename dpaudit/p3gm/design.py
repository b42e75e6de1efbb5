"""How a phased generator is fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.p3gm import em
from dpaudit.training.steps import Steps

Model: TypeAlias = Literal["p3gm", "ae", "vae"]
MODELS: tuple[Model, ...] = ("p3gm", "ae", "vae")
LIKELIHOODS = ("bernoulli", "gaussian", "narrow")
PCA = ("wishart", "gaussian")


@dataclass(frozen=True)
class Design:
    """How a generator is fitted; noise of 0 is none.

    `p3gm` learns the variance of q(z|x) with the decoder, `ae` has it fixed at 0, `vae` has
    neither the phases nor their noise. `pca_noise` is epsilon_p of Wishart noise, else s_p.
    From features `centre` is subtracted, then they are divided by `radius` and cut to the unit
    ball: public numbers, as all of this is. With a `label_length` labels are not projected with
    the features, but have directions of their own, so long beside features of unit length.
    """

    model: Model
    latent: int
    hidden: int
    components: int
    iterations: int
    steps: Steps
    radius: float = 1.0
    centre: float = 0.0
    label_length: float = 0.0
    pca: str = "gaussian"
    pca_noise: float = 0.0
    em: str = "safe"
    em_noise: float = 0.0
    label_noise: float = 0.0
    likelihood: str = "bernoulli"
    pretraining: int = 300

    def __post_init__(self) -> None:
        wanting = self.steps.noise_multiplier and self.steps.clip == float("inf")
        checks.refuse(
            [
                checks.one_of("model", self.model, MODELS),
                checks.one_of("likelihood", self.likelihood, LIKELIHOODS),
                checks.one_of("pca", self.pca, PCA),
                checks.one_of("em", self.em, em.VARIANTS),
                checks.positive("radius", self.radius),
                BadInput("noise in DP-SGD needs a clip norm", "needs-clip", option="clip")
                if wanting
                else None,
            ]
        )

    @property
    def noisy(self) -> bool:
        """Whether noise is asked for anywhere."""
        of_labels, of_steps = self.label_noise, self.steps.noise_multiplier
        return any((self.pca_noise, self.em_noise, of_labels, of_steps))

    @property
    def mu(self) -> float:
        """Of all that is released before DP-SGD: Gaussian mechanisms one after the other.

        It holds for Gaussian noise in DP-PCA and safe DP-EM. Without noise it is infinite; labels'
        shares that have none are not released.
        """
        of_labels = 1 / self.label_noise if self.label_noise else 0.0
        if self.model == "vae":
            return of_labels
        if not (self.pca_noise and self.em_noise):
            return math.inf
        releases = self.iterations * em.VARIANTS[self.em].releases(self.components)
        return math.hypot(of_labels, 1 / self.pca_noise, math.sqrt(releases) / self.em_noise)

    def width(self, classes: int) -> int:
        """Values of z."""
        return self.latent + (classes if self.label_length and self.model != "vae" else 0)


def without_noise(design: Design) -> Design:
    """The same generator without privacy: PGM of P3GM, VAE of DP-VAE."""
    steps = replace(design.steps, noise_multiplier=0.0, clip=float("inf"))
    return replace(design, pca_noise=0.0, em_noise=0.0, label_noise=0.0, steps=steps)
