"""The parts of P3GM's first phase as mechanisms: DP-PCA and DP-EM, each with its noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.accounting import gaussian_epsilon, gaussian_mu
from dpaudit.errors import BadInput
from dpaudit.papers.p3gm import em, pca
from dpaudit.papers.p3gm.design import PCA
from dpaudit.protocols import Mechanism, repr_of
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
    """DP-PCA of P3GM: the second moment of all records with Wishart or Gaussian noise.

    Records are cut to unit length; A = (1/n) sum of x x^T is released, not centred and without
    labels. Projections by its eigenvectors are post-processing. A trial is one release.

    The claim, with Wishart noise (`noise=wishart`, as published): (epsilon_pca, 0) if one record is
    replaced, for A + W with W of d + 1 degrees of freedom and scale 3/(2 n epsilon_pca).

    The flaw: W is positive semi-definite, so a release is never below A in any direction. Let D'
    have a record v, |v| = 1, where D has nothing. With probability 1 - exp(-epsilon_pca/3) the
    release from D is below the second moment of D' somewhere; from D' it never is. No finite
    epsilon holds with a smaller delta, for any d and n. The smallest eigenvalue of the release
    minus A' shows it (attack `second-moment`).

    Gaussian noise (`noise=gaussian`) is the correction: (epsilon_pca, --delta), by noise that is
    equal in all directions of symmetric matrices, of s times the Frobenius sensitivity sqrt(2)/n.
    The claim states its curve, which two records at right angles reach.

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
        self, data: Data, noise: str = "wishart", epsilon_pca: float = 0.1, delta: float = 1e-5
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
            problem = "noise=gaussian is audited by two directions, and records have 1 value"
            raise BadInput(problem, "too-small", option="features", value=self.features)

    def __repr__(self) -> str:
        return repr_of(self, names=("noise", "epsilon_pca", "delta", "features"))

    @cached_property
    def _mu(self) -> float:
        """The largest mu of Gaussian noise whose epsilon is at most the claimed one."""
        return gaussian_mu(self.epsilon_pca, self.delta)

    @cached_property
    def claim(self) -> Claim:
        """The published claim, or that of the Gaussian mechanism."""
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
        breaks = "Look for the cause: the noise's scale, or records beyond unit norm."
        if self.noise == "wishart":
            breaks = (
                "Wishart noise is one-sided: some releases are possible only without the canary: "
                "dpaudit explain p3gm-pca. Take Gaussian noise (--set noise=gaussian)."
            )
        return About(
            adversary="observer: sees the released second moment; knows all records, but not which "
            "of two was there",
            deployment="Anyone who gets the second moment can show this leak. Its eigenvectors "
            "alone show less, but the composition of P3GM relies on this claim.",
            breaks=breaks,
        )

    def example(self) -> Observation:
        return {"gap" if self.noise == "wishart" else "moment_ratio": np.zeros(())}

    def craft(self, data: Data, seed: int) -> Known:
        """Return nothing and the darkest value lit; of Gaussian noise, the two darkest alone."""
        mean = data.shadow.x.reshape(len(data.shadow), -1).mean(axis=0)
        lit = np.eye(self.features)[np.argsort(mean, kind="stable")[:2]]
        out = np.zeros(self.features) if self.noise == "wishart" else lit[1]
        return {"opposites": np.stack([out, lit[0]]).reshape(2, *data.shape)}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        with pca.one_blas_thread():
            rows = {w: pca.within_unit_ball(pair.world(w).x) for w in (OUT, IN)}
            a = {w: pca.second_moment(x) for w, x in rows.items()}
            return [self._observe(a, len(pair.out), trial) for trial in trials]

    def _observe(self, a: Mapping[int, Array], n: int, trial: Trial) -> Observation:
        draw = generator(trial.seed, "pca")
        if self.noise == "wishart":
            released = pca.wishart(a[trial.world], n, self.epsilon_pca, draw)
            return {"gap": np.array(pca.below(released, a[IN]))}
        s = 1 / self._mu
        released = pca.gaussian(a[trial.world], n, s, draw)
        return {"moment_ratio": np.array(pca.log_ratio(released, a[OUT], a[IN], n, s))}


class P3GMEM(Mechanism):
    """DP-EM of P3GM: a mixture of Gaussians with Gaussian noise on every M-step.

    Records are cut to unit length and projected to `latent` directions of the shadow set, which are
    public here; `p3gm-pca` audits DP-PCA. The start of EM is drawn without the data. A trial is one
    fit of `iterations` iterations with `components` components of diagonal variances; all its
    releases are seen.

    The claim: each release is a Gaussian mechanism of noise multiplier em_noise, if one record is
    replaced. As published (`variant=published`) an iteration has 2K + 1 of them: the weights, of
    sensitivity sqrt(2)/n, and for each component the mean, 2/N_k, and the second moment,
    sqrt(2)/N_k.

    The flaw: N_k, the number of records of a component, is private, and the deviation of the noise
    shows it. In a component with few records, one more makes the noise visibly smaller, for any
    em_noise. A component with the canary alone shows it at once.

    `variant=safe` releases three sums per iteration, over all components together: N_k (sensitivity
    sqrt(2)), the records (2) and their squares (sqrt(2)). Its noise does not depend on the data,
    and its claim holds.

    Park, Foulds, Chaudhuri and Welling, DP-EM (2016); Takagi, Takahashi, Cao and Yoshikawa, P3GM
    (2021).
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "opposites",
        "attacks": ("mixture",),
        "models": 1000,
    }
    trials_per_call = 50

    def __init__(
        self,
        data: Data,
        variant: str = "published",
        components: int = 3,
        iterations: int = 20,
        em_noise: float = 100.0,
        latent: int = 10,
        delta: float = 1e-5,
        seed: int = 0,
    ) -> None:
        checks.refuse(
            [
                checks.one_of("variant", variant, em.VARIANTS),
                checks.at_least("components", components, 1),
                checks.at_least("iterations", iterations, 1),
                checks.positive("em_noise", em_noise),
                checks.whole("latent", latent, 1, math.prod(data.shape)),
                checks.in_range("delta", delta, 0, 1, ends="()"),
            ]
        )
        self.variant, self.components, self.iterations = variant, components, iterations
        self.em_noise, self.latent, self.delta, self.seed = em_noise, latent, delta, seed
        rows = pca.within_unit_ball(data.shadow.x)
        self._projection = pca.components(pca.second_moment(rows), latent)
        self._start = em.start(components, latent, generator(seed, "em", "start"))

    def __repr__(self) -> str:
        names = ("variant", "components", "iterations", "em_noise", "latent", "delta", "seed")
        return repr_of(self, names=names)

    @cached_property
    def claim(self) -> Claim:
        """The exact epsilon of all Gaussian mechanisms, which are one together."""
        releases = em.VARIANTS[self.variant].releases(self.components)
        mu = math.sqrt(self.iterations * releases) / self.em_noise
        return Claim(
            epsilon=gaussian_epsilon(mu, self.delta),
            delta=self.delta,
            unit="the released mixture",
            adjacency="replace",
            curve=GaussianCurve(mu),
            source=f"{releases} Gaussian mechanisms an iteration",
            trials="releases",
        )

    def about(self, pair: Pair) -> About:
        breaks = "Look for the cause: the noise's scale, or points beyond unit norm."
        if self.variant == "published":
            breaks = (
                "The noise's deviation depends on the number of records of a component, which "
                "is private: dpaudit explain p3gm-em. Release sums instead (--set variant=safe)."
            )
        return About(
            adversary="observer: sees the releases of all iterations; knows all records, but not "
            "which of two was there",
            deployment="The last mixture alone shows less, but DP-EM makes its promise for all "
            "iterations.",
            breaks=breaks,
        )

    def example(self) -> Observation:
        return {"mixture_ratio": np.zeros(())}

    def craft(self, data: Data, seed: int) -> Known:
        """Return an ordinary record, and one at the component with least of the shadow set."""
        typical = pca.within_unit_ball(data.shadow.x.mean(axis=0)[None])[0]
        loneliest = (
            self._start.responsibilities(self._projected(data.shadow.x)).sum(axis=0).argmin()
        )
        mean = self._start.means[loneliest]
        there = self._projection @ (mean / np.linalg.norm(mean))
        return {"opposites": np.stack([typical, there]).reshape(2, *data.shape)}

    def _projected(self, x: Array) -> Array:
        return np.asarray(pca.within_unit_ball(x) @ self._projection)

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        how = (self._start, self.iterations, self.em_noise, self.variant)
        with pca.one_blas_thread():
            worlds = self._projected(pair.out.x), self._projected(pair.inn.x)
            ratios = [em.log_ratio(worlds, t.world, *how, generator(t.seed, "em")) for t in trials]
        return [{"mixture_ratio": np.array(ratio)} for ratio in ratios]
