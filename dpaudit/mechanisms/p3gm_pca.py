"""DP-PCA, the first phase of P3GM: a second moment that is released with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.accounting import gaussian_epsilon, gaussian_mu
from dpaudit.errors import BadInput
from dpaudit.mechanisms.threads import one_thread
from dpaudit.p3gm import pca
from dpaudit.p3gm.design import PCA
from dpaudit.protocols import Mechanism
from dpaudit.seeds import generator
from dpaudit.types import (
    IN,
    OUT,
    About,
    Array,
    Claim,
    Data,
    GaussianCurve,
    Known,
    Observation,
    Pair,
    Trial,
)


class P3GMPCA(Mechanism):
    """DP-PCA of P3GM: the second moment of all records with Wishart noise, or with Gaussian.

    Records are cut to unit length; A = (1/n) sum of x x^T is released, not centred and without
    labels. What is projected by its eigenvectors is post-processing. A trial is one release.

    The claim, with Wishart noise (`noise=wishart`, as published): (epsilon_pca, 0) if one record is
    replaced, for A + W with W of d + 1 degrees of freedom and scale 3/(2 n epsilon_pca).

    The flaw: W is positive semi-definite, so that what is released is never below A in any
    direction. Let D' have a record v, |v| = 1, where D has nothing. With probability
    1 - exp(-epsilon_pca/3) the release from D is below the second moment of D' somewhere, and from
    D' it never is: no finite epsilon holds with a smaller delta, whatever d and n. The smallest
    eigenvalue of what is released minus A' shows it (attack `second-moment`).

    Gaussian noise (`noise=gaussian`) is the correction: (epsilon_pca, --delta), by noise that is
    alike in all directions of symmetric matrices, of s times the Frobenius sensitivity sqrt(2)/n.
    The claim states its curve, which is reached by two records at right angles.

    Jiang, Xie and Zhang, Wishart Mechanism for Differentially Private Principal Components Analysis
    (2016); Takagi, Takahashi, Cao and Yoshikawa, P3GM (2021), whose code has Gaussian noise by now.
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "opposites",
        "attacks": ("second-moment",),
        "models": 2000,
    }
    trials_per_call = 100

    def __init__(
        self,
        data: Data,
        noise: str = "wishart",
        epsilon_pca: float = 0.1,
        delta: float = 1e-5,
    ) -> None:
        checks.refuse(
            [
                checks.one_of("noise", noise, PCA),
                checks.positive("epsilon_pca", epsilon_pca),
                checks.in_range("delta", delta, 0, 1, ends="()"),
            ]
        )
        self.noise, self.epsilon_pca = noise, epsilon_pca
        self.delta = delta if noise == "gaussian" else 0.0
        self.features = math.prod(data.shape)
        if noise == "gaussian" and self.features == 1:
            raise BadInput(
                "noise=gaussian is audited by two directions, and records have 1 value",
                "too-small",
                option="features",
                value=self.features,
            )

    def __repr__(self) -> str:
        told = ("noise", "epsilon_pca", "delta", "features")
        return f"P3GMPCA({', '.join(f'{t}={getattr(self, t)!r}' for t in told)})"

    @cached_property
    def _mu(self) -> float:
        """Of Gaussian noise: the largest whose epsilon is at most what is claimed."""
        return gaussian_mu(self.epsilon_pca, self.delta)

    @cached_property
    def claim(self) -> Claim:
        """The published one, or that of the Gaussian mechanism."""
        curve = GaussianCurve(self._mu) if self.noise == "gaussian" else None
        return Claim(
            epsilon=gaussian_epsilon(curve.mu, self.delta) if curve else self.epsilon_pca,
            delta=self.delta,
            unit="the released second moment",
            adjacency="replace",
            curve=curve,
            source="exact Gaussian accounting" if curve else "the Wishart mechanism as published",
            trials="releases",
        )

    def about(self, pair: Pair) -> About:
        breaks = (
            "Wishart noise is one-sided, so that some releases are possible without the canary "
            "only: dpaudit explain p3gm-pca. Take Gaussian noise (--set noise=gaussian)."
        )
        if self.noise == "gaussian":
            breaks = (
                "Look for what breaks the claim: the noise's scale, or records beyond unit norm."
            )
        return About(
            adversary="observer: sees the released second moment, and knows all records but which "
            "of two was there",
            deployment="whoever gets the second moment could show as much; who gets its "
            "eigenvectors alone sees less, but the composition of P3GM counts on what is claimed "
            "here",
            breaks=breaks,
        )

    def example(self) -> Observation:
        """What is seen of a trial, but for its numbers."""
        return {"gap" if self.noise == "wishart" else "moment_ratio": np.zeros(())}

    def craft(self, data: Data, seed: int) -> Known:
        """Nothing and the darkest value lit; of Gaussian noise, the two darkest, each lit alone."""
        mean = data.shadow.x.reshape(len(data.shadow), -1).mean(axis=0)
        lit = np.eye(self.features)[np.argsort(mean, kind="stable")[:2]]
        out = np.zeros(self.features) if self.noise == "wishart" else lit[1]
        return {"opposites": np.stack([out, lit[0]]).reshape(2, *data.shape)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """A release for each trial, and how it lies to the second moments of both worlds."""
        n = len(pair.out)
        with one_thread():
            a = {w: pca.second_moment(pca.within_unit_ball(pair.world(w).x)) for w in (OUT, IN)}
            return [self._seen(a, n, trial) for trial in trials]

    def _seen(self, a: Mapping[int, Array], n: int, trial: Trial) -> Observation:
        draw = generator(trial.seed, "pca")
        if self.noise == "wishart":
            released = pca.wishart(a[trial.world], n, self.epsilon_pca, draw)
            return {"gap": np.array(pca.below(released, a[IN]))}
        s = 1 / self._mu
        released = pca.gaussian(a[trial.world], n, s, draw)
        return {"moment_ratio": np.array(pca.log_ratio(released, a[OUT], a[IN], n, s))}
