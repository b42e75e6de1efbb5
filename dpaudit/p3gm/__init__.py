"""P3GM, the phased private generator: DP-PCA, DP-EM, its decoder, and what they spend together."""

from dpaudit.p3gm.accounting import Phases, noise_multiplier, replacing
from dpaudit.p3gm.design import Architecture, Design, FirstReleases, without_noise
from dpaudit.p3gm.generator import Generator, fit
from dpaudit.training.steps import Steps

__all__ = [
    "Architecture",
    "Design",
    "FirstReleases",
    "Generator",
    "Phases",
    "Steps",
    "fit",
    "noise_multiplier",
    "replacing",
    "without_noise",
]
