"""P3GM, a generator of synthetic records that is trained in phases, all of them with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.accounting import gaussian_mu
from dpaudit.config.settings import Budget, Schedule
from dpaudit.errors import BadInput
from dpaudit.mechanisms.warnings import batch_too_large, delta_too_large
from dpaudit.papers.p3gm.accounting import Phases, noise_multiplier, replacing
from dpaudit.papers.p3gm.design import AdamRecipe, Architecture, FirstReleases, GeneratorRecipe
from dpaudit.papers.p3gm.generator import Generator, fit, with_labels
from dpaudit.papers.p3gm.pca import one_blas_thread
from dpaudit.protocols import Mechanism, repr_of
from dpaudit.types import (
    About,
    Array,
    Backend,
    Claim,
    Data,
    GaussianCurve,
    Observation,
    Pair,
    Records,
    Trial,
)

THEOREM = "Theorem 3 of the paper"
"""Source of the published variant's claim."""

FIRST_PHASE = {"safe": (0.3, 60.0), "published": (0.05, 100.0)}
"""Default epsilon_pca and em_noise of each variant: both leave most to DP-SGD."""


@dataclass(frozen=True)
class FirstPhase:
    """DP-PCA and DP-EM."""

    variant: str = "safe"
    components: int = 3
    iterations: int = 5
    epsilon_pca: float | None = None
    em_noise: float | None = None

    def __post_init__(self) -> None:
        pca, noise = self.epsilon_pca, self.em_noise
        checks.refuse(
            [
                checks.one_of("variant", self.variant, FIRST_PHASE),
                checks.at_least("components", self.components, 1),
                checks.at_least("iterations", self.iterations, 1),
                None if pca is None else checks.positive("epsilon_pca", pca),
                None if noise is None else checks.positive("em_noise", noise),
            ]
        )

    @property
    def noise(self) -> tuple[float, float]:
        """epsilon_pca and em_noise, by default those of the variant."""
        pca, noise = FIRST_PHASE[self.variant]
        return (
            pca if self.epsilon_pca is None else self.epsilon_pca,
            noise if self.em_noise is None else self.em_noise,
        )


class P3GM(Mechanism):
    """P3GM, the phased private generator: DP-PCA, then DP-EM, then a decoder by DP-SGD.

    Records, each with its label as a block of zeros and a one, are divided by a public radius and
    cut to the unit ball. DP-PCA projects them to `latent` directions, DP-EM fits a mixture of
    `components` Gaussians there, and DP-SGD trains a decoder and the variance of q(z|x), with Adam
    (`--epochs`, `--batch`, `--lr`, `--clip`). Synthetic records are drawn from the mixture and
    decoded. A trial is one generator; the adversary has it, and `rows` synthetic records.

    The claim that holds (`variant=safe`): (--epsilon, --delta) if one record is replaced. DP-PCA
    has Gaussian noise of (epsilon_pca, delta), the sums of DP-EM have noise em_noise, and DP-SGD
    has the noise that the rest of the budget requires, composed by privacy loss distributions. A
    replaced record moves a sum of gradients by twice the clip norm.

    As published (`variant=published`): Wishart noise of epsilon_pca in DP-PCA, DP-EM with 2K + 1
    releases per iteration, and the epsilon of Theorem 3, which adds up 2 alpha epsilon_pca^2, j (2K
    + 1) alpha/(2 em_noise^2) and an accountant's part for DP-SGD.

    The flaws: Wishart noise is not private (`p3gm-pca` refutes it, and with it the theorem). The
    noise of DP-EM depends on private counts (`p3gm-em`). DP-SGD is accounted for adding and
    removing a record, but the paper replaces one. Its term of DP-PCA is four times too large, its
    printed term of DP-SGD leaves out all steps but one, and its (6) has the divergence in the wrong
    direction. A generator shows far less of one record than any of these claims: expect no
    violation.

    epsilon_pca and em_noise are 0.3 and 60 by default, 0.05 and 100 as published: most of the
    budget is left to DP-SGD. model: `p3gm`; `ae`, whose q(z|x) has no variance; `vae`, trained by
    DP-SGD alone, without DP-PCA and DP-EM. likelihood: `bernoulli`; `gaussian`, the squared error;
    or `narrow`, a Gaussian of deviation 0.07. label_length: above 0, labels are not projected with
    the features but have directions of their own, of this length; DP-EM begins there, with one
    component per label.

    Takagi, Takahashi, Cao and Yoshikawa, P3GM: Private High-Dimensional Data Release via Privacy
    Preserving Phased Generative Model (2021), and their first paper on it (in Japanese).
    """

    default_settings: ClassVar[Mapping[str, Any]] = {
        "canary": "opposites",
        "attacks": ("nearest", "reconstruction", "elbo"),
        "models": 400,
    }
    trials_per_call = 4
    backend = Backend("torch", "not native: it knows no loss but cross-entropy")

    def __init__(
        self,
        data: Data,
        network: Architecture = Architecture(),
        first: FirstPhase = FirstPhase(),
        privacy: Budget = Budget(epsilon=1.0),
        training: Schedule = Schedule(epochs=10, batch=100, lr=0.01),
        rows: int = 1000,
    ) -> None:
        _refuse_unfit(data, network, first, rows)
        self.variant, self.delta, self.rows = first.variant, privacy.delta, rows
        self.classes, self.records = data.classes, len(data.pool)
        self._batch = training.batch
        self.epsilon_pca, em_noise = first.noise
        if self.variant == "published":
            pca, pca_noise = "wishart", self.epsilon_pca
        else:
            pca, pca_noise = "gaussian", 1 / gaussian_mu(self.epsilon_pca, self.delta)
        q, s = training.sample_rate(self.records), privacy.noise_multiplier or 0.0
        count, expected = training.rounds(self.records), q * self.records
        lengths = np.linalg.norm(with_labels(data.shadow, data.classes), axis=1)
        self.design = GeneratorRecipe(
            network,
            FirstReleases(
                first.components, first.iterations, pca, pca_noise, self.variant, em_noise
            ),
            AdamRecipe(count, q, expected, training.lr, privacy.clip, s),
            radius=float(np.median(lengths)),  # public: of the shadow set
            pretraining=100,
        )
        if privacy.epsilon is not None:
            found = replace(self.design.steps, noise_multiplier=self._solved(privacy.epsilon))
            self.design = replace(self.design, steps=found)

    def __repr__(self) -> str:
        names = ("variant", "epsilon_pca", "delta", "rows", "records")
        return repr_of(self, self.design, names=names)

    def _solved(self, epsilon: float) -> float:
        """Return the least noise multiplier of DP-SGD by which all phases spend epsilon."""
        if self._by_theorem:
            return self._phases(1.0).with_least_noise(epsilon, self.delta).s_s
        s = self.design.steps
        return noise_multiplier(epsilon, self.design.mu, s.sample_rate, s.count, self.delta)

    @property
    def _by_theorem(self) -> bool:
        """True if the claim is the published one; without the phases only DP-SGD is left."""
        return self.variant == "published" and self.design.network.model != "vae"

    def _phases(self, s_s: float) -> Phases:
        first, steps = self.design.first, self.design.steps
        return Phases(
            *(self.epsilon_pca, first.components, first.iterations, first.em_noise),
            *(steps.sample_rate, steps.count, s_s),
        )

    @cached_property
    def claim(self) -> Claim:
        """The epsilon that all phases together spend if one record is replaced."""
        steps, mu, curve = self.design.steps, self.design.mu, None
        s = steps.noise_multiplier
        if self._by_theorem:
            epsilon, source = self._phases(s).composed_epsilon(self.delta), THEOREM
        else:
            epsilon = replacing(mu, steps.sample_rate, steps.count, s, self.delta)
            source = "pld accountant, all phases together"
            if steps.sample_rate == 1:
                curve = GaussianCurve(math.hypot(mu, 2 * math.sqrt(steps.count) / s))
                source = "exact Gaussian accounting of all phases"
        return Claim(
            epsilon=epsilon,
            delta=self.delta,
            unit="the generator",
            adjacency="replace",
            curve=curve,
            source=source,
        )

    def _warnings(self) -> list[str]:
        batch = 1 if self._batch == "full" else int(self._batch)
        found = delta_too_large(self.delta, self.records) + batch_too_large(batch, self.records)
        if self._by_theorem:
            found.append(
                "parts of this claim are refuted, by p3gm-pca and by p3gm-em: to find no violation "
                "in the whole does not restore it"
            )
        return found

    def about(self, pair: Pair) -> About:
        network, first, steps = self.design.network, self.design.first, self.design.steps
        phased = network.model != "vae"
        first_phase = (
            f"{network.latent} directions by DP-PCA ({first.pca} noise, epsilon "
            f"{self.epsilon_pca:g}), {first.components} components by DP-EM ({first.em}, "
            f"{first.iterations} iterations, noise {first.em_noise:g}), then "
        )
        second_phase = f"{network.model}, {network.hidden} wide, by Adam"
        return About(
            adversary="has the generator and synthetic records; knows all records, but not which "
            "of two was in",
            deployment="With synthetic records alone, only the attack nearest is possible. A "
            "generator that shows little of one record may show more of another.",
            breaks="Look for the cause: dpaudit explain p3gm; the parts have audits of "
            "their own, p3gm-pca and p3gm-em.",
            training={
                "network": first_phase + second_phase if phased else second_phase,
                "steps": steps.count,
                "batch": steps.expected,
                "sample_rate": steps.sample_rate,
                "lr": steps.lr,
                "clip": steps.clip,
                "noise_multiplier": steps.noise_multiplier,
                "dropout": 0.0,
                "start": "taught" if phased else "random",
            },
            warnings=self._warnings(),
        )

    def example(self) -> Observation:
        names = ["nearest", "reconstruction", "elbo"]
        names += [] if self.design.network.model == "vae" else ["subspace"]
        return {name: np.zeros(()) for name in names}

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        c = pair.canary
        canary = with_labels(Records(c.x[None], np.array([c.y])), self.classes)
        with one_blas_thread():
            return [self._observe(pair, canary, trial) for trial in trials]

    def _observe(self, pair: Pair, canary: Array, trial: Trial) -> Observation:
        made: Generator = fit(self.design, pair.world(trial.world), self.classes, trial.seed)
        error, elbo = made.evaluate(canary)
        synthetic = made.sample(self.rows, trial.seed).x
        apart = np.linalg.norm(synthetic - canary[:, : -self.classes], axis=1)
        seen = {"nearest": apart.min(), "reconstruction": error[0], "elbo": elbo[0]}
        if (inside := made.embed(canary)) is not None:
            seen["subspace"] = np.sum(inside**2)
        return {name: np.array(float(x)) for name, x in seen.items()}


def _refuse_unfit(data: Data, network: Architecture, first: FirstPhase, rows: int) -> None:
    problems = []
    if network.model != "vae":
        features, own = math.prod(data.shape), network.label_length > 0
        most, least = (features, data.classes) if own else (features + data.classes, 1)
        problems.append(checks.whole("latent", network.latent, 1, most))
        problems.append(checks.at_least("components", first.components, least))
    checks.refuse([*problems, checks.at_least("rows", rows, 1)])
    if not (data.pool.x.min() >= 0 and data.pool.x.max() <= 1):
        problem = "p3gm draws values from 0 to 1, and the data have others; scale them"
        raise BadInput(problem, "out-of-range", option="data")
