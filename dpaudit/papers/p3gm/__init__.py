"""P3GM, the phased private generator: DP-PCA, DP-EM, its decoder, and what they spend together.

- `accounting`: the privacy that the phases spend, as published and as it holds
- `design`: settings of a generator
- `em`, `pca`: DP-EM and DP-PCA, which make the first phase
- `variational`: the second phase, by DP-SGD; the only module that imports torch
- `generator`: both phases together, and synthetic records
- `mechanism`, `first_phase`: the mechanisms `p3gm`, and `p3gm-pca` and `p3gm-em`
- `attacks_and_canary`: attacks on all three, and the canary `opposites`
"""

from dpaudit.papers.p3gm.attacks_and_canary import (
    Elbo,
    Mixture,
    Nearest,
    Opposites,
    Reconstruction,
    SecondMoment,
    Subspace,
)
from dpaudit.papers.p3gm.design import Architecture
from dpaudit.papers.p3gm.first_phase import P3GMEM, P3GMPCA
from dpaudit.papers.p3gm.mechanism import P3GM, FirstPhase

__all__ = [
    "P3GM",
    "P3GMEM",
    "P3GMPCA",
    "Architecture",
    "Elbo",
    "FirstPhase",
    "Mixture",
    "Nearest",
    "Opposites",
    "Reconstruction",
    "SecondMoment",
    "Subspace",
]
