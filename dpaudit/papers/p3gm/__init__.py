"""P3GM, the phased private generator: DP-PCA, DP-EM, its decoder, and what they spend together."""

from __future__ import annotations

from dpaudit.papers.p3gm.accounting import Phases, noise_multiplier, replacing
from dpaudit.papers.p3gm.design import Architecture, Design, FirstReleases, Steps, without_noise
from dpaudit.papers.p3gm.generator import Generator, fit

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
