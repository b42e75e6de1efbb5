"""P3GM, a generator of synthetic records that is trained in phases, all of them with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpaudit import checks
from dpaudit.accounting import gaussian_mu
from dpaudit.errors import BadInput
from dpaudit.mechanisms.cautions import batch_too_large, delta_too_large
from dpaudit.mechanisms.threads import one_thread
from dpaudit.p3gm import Design, Generator, Phases, fit, noise_multiplier, replacing
from dpaudit.p3gm.design import LIKELIHOODS, MODELS
from dpaudit.p3gm.labels import with_labels
from dpaudit.training.steps import Steps
from dpaudit.types import Array, Claim, Data, GaussianCurve, Observation, Pair, Records, Trial

THEOREM = "Theorem 3 of the paper"
"""Where the claim of the published variant comes from."""

FIRST_PHASE = {"safe": (0.3, 60.0), "published": (0.05, 100.0)}
"""epsilon_pca and em_noise of each variant, where they are not given: both leave most to DP-SGD."""


class P3GM:
    """P3GM, the phased private generator: DP-PCA, then DP-EM, then a decoder by DP-SGD.

    Records, each with its label as a block of zeros and a one, are divided by a public radius and
    cut to the unit ball. DP-PCA projects them to `latent` directions, DP-EM fits a mixture of
    `components` Gaussians there, and DP-SGD trains a decoder and the variance of q(z|x), with Adam
    (`--epochs`, `--batch`, `--lr`, `--clip`). Records are drawn from the mixture and decoded. A
    trial is one generator; whoever attacks has the model, and `rows` synthetic records.

    The claim, as it holds (`variant=safe`): (--epsilon, --delta) if one record is replaced, for
    Gaussian noise in DP-PCA of (epsilon_pca, delta), sums with noise em_noise in DP-EM, and as much
    noise in DP-SGD as the rest allows, composed by their privacy loss distributions. A replaced
    record moves a sum of gradients by twice the clip norm.

    As published (`variant=published`): Wishart noise of epsilon_pca in DP-PCA, DP-EM with 2K + 1
    releases an iteration, and the epsilon of Theorem 3, which adds up 2 alpha epsilon_pca^2,
    j (2K + 1) alpha/(2 em_noise^2) and an accountant's part for DP-SGD.

    The flaws: Wishart noise is not private (`p3gm-pca` refutes it, and with it the theorem); the
    noise of DP-EM depends on private counts (`p3gm-em`); DP-SGD is accounted for adding and
    removing a record, where the paper replaces one. Its term of DP-PCA is four times too large, its
    printed one of DP-SGD leaves out all steps but one, and its (6) has the divergence the wrong way
    round. What a generator shows of one record is far below any of these claims: expect no
    violation here.

    epsilon_pca and em_noise are 0.3 and 60 if they are left out, 0.05 and 100 as published: most of
    the budget is left to DP-SGD. model: `p3gm`; `ae`, whose q(z|x) has no variance; `vae`, which
    learns all of it by DP-SGD (then the settings of DP-PCA and DP-EM have no effect). likelihood:
    `bernoulli`; `gaussian`, the squared error; or `narrow`, a Gaussian of deviation 0.07.
    label_length: above 0, labels are not projected with the features but have directions of their
    own, so long beside them; DP-EM begins there, with a component a label.

    Takagi, Takahashi, Cao and Yoshikawa, P3GM: Private High-Dimensional Data Release via Privacy
    Preserving Phased Generative Model (2021), and their first paper on it (in Japanese).
    """

    sets: ClassVar[Mapping[str, Any]] = {
        "canary": "opposites",
        "attacks": ("nearest", "reconstruction", "elbo"),
        "models": 400,
        "epsilon": 1.0,
        "epochs": 10,
        "batch": 100,
        "lr": 0.01,
    }
    at_once = 4

    def __init__(
        self,
        data: Data,
        variant: str = "safe",
        model: str = "p3gm",
        latent: int = 10,
        hidden: int = 100,
        components: int = 3,
        iterations: int = 5,
        epsilon_pca: float | None = None,
        em_noise: float | None = None,
        likelihood: str = "bernoulli",
        label_length: float = 0.0,
        rows: int = 1000,
        epsilon: float | None = 1.0,
        noise_multiplier: float | None = None,
        delta: float = 1e-5,
        epochs: int = 10,
        steps: int | None = None,
        batch: int | str = 100,
        lr: float = 0.01,
        clip: float = 1.0,
    ) -> None:
        usual_pca, usual_em = FIRST_PHASE.get(variant, (1.0, 1.0))
        epsilon_pca = usual_pca if epsilon_pca is None else epsilon_pca
        em_noise = usual_em if em_noise is None else em_noise
        phased, features = model != "vae", math.prod(data.shape)
        most = features if label_length else features + data.classes
        checks.refuse(
            [
                checks.one_of("variant", variant, FIRST_PHASE),
                checks.one_of("model", model, MODELS),
                checks.one_of("likelihood", likelihood, LIKELIHOODS),
                checks.whole("latent", latent, 1, most)
                if phased
                else checks.at_least("latent", latent, 1),
                checks.at_least("hidden", hidden, 1),
                checks.in_range("label_length", label_length, 0, 10),
                checks.at_least(
                    "components", components, data.classes if label_length and phased else 1
                ),
                checks.at_least("iterations", iterations, 1),
                checks.positive("epsilon_pca", epsilon_pca),
                checks.positive("em_noise", em_noise),
                checks.at_least("rows", rows, 1),
                checks.in_range("delta", delta, 0, 1, ends="()"),
                checks.at_least("epochs", epochs, 1),
                None if batch == "full" else checks.at_least("batch", batch, 1),
                checks.positive("lr", lr),
                checks.positive("clip", clip),
                *(
                    checks.positive(name, value)
                    for name, value in (("noise_multiplier", noise_multiplier), ("steps", steps))
                    if value is not None
                ),
            ]
        )
        if not (data.pool.x.min() >= 0 and data.pool.x.max() <= 1):
            raise BadInput(
                "p3gm draws values from 0 to 1, and the data have others; scale them",
                "out-of-range",
                option="data",
            )
        self.variant, self.delta, self.rows = variant, delta, rows
        self.classes, self.records = data.classes, len(data.pool)
        self.epsilon_pca, self._batch = epsilon_pca, batch
        q = 1.0 if batch == "full" else min(1.0, int(batch) / self.records)
        count = max(1, int(epochs / q + 1e-9)) if steps is None else steps
        published = variant == "published"
        self.design = Design(
            model=next(m for m in MODELS if m == model),
            latent=latent,
            hidden=hidden,
            components=components,
            iterations=iterations,
            steps=Steps(count, q, q * self.records, lr, clip, noise_multiplier or 0.0),
            radius=_radius(data.shadow, data.classes),
            pca="wishart" if published else "gaussian",
            pca_noise=epsilon_pca if published else 1 / gaussian_mu(epsilon_pca, delta),
            em=variant,
            em_noise=em_noise,
            likelihood=likelihood,
            label_length=label_length,
            pretraining=100,
        )
        if noise_multiplier is None:
            found = replace(self.design.steps, noise_multiplier=self._solved(epsilon))
            self.design = replace(self.design, steps=found)

    def __repr__(self) -> str:
        told = {t: getattr(self, t) for t in ("variant", "epsilon_pca", "delta", "rows", "records")}
        return f"P3GM({self.design}, {', '.join(f'{t}={x!r}' for t, x in told.items())})"

    # ------------------------------------------------------------ what is promised

    def _solved(self, epsilon: float | None) -> float:
        """The least noise multiplier of DP-SGD by which all phases spend what is claimed."""
        checks.refuse([checks.positive("epsilon", epsilon)])
        assert epsilon is not None
        if self._by_theorem:
            return self._phases(1.0).solved(epsilon, self.delta).s_s
        s = self.design.steps
        return noise_multiplier(epsilon, self.design.mu, s.sample_rate, s.count, self.delta)

    @property
    def _by_theorem(self) -> bool:
        """Of a model without the phases nothing is published but DP-SGD."""
        return self.variant == "published" and self.design.model != "vae"

    def _phases(self, s_s: float) -> Phases:
        d = self.design
        return Phases(
            *(self.epsilon_pca, d.components, d.iterations, d.em_noise),
            *(d.steps.sample_rate, d.steps.count, s_s),
        )

    @cached_property
    def claim(self) -> Claim:
        """What all phases together spend, if one record is replaced."""
        steps, curve = self.design.steps, None
        if self._by_theorem:
            epsilon = self._phases(steps.noise_multiplier).composed(self.delta)
            source = THEOREM
        else:
            how = (self.design.mu, steps.sample_rate, steps.count, steps.noise_multiplier)
            epsilon, source = replacing(*how, self.delta), "pld accountant, all phases together"
            if steps.sample_rate == 1:
                mu = math.hypot(self.design.mu, 2 * math.sqrt(steps.count) / steps.noise_multiplier)
                curve, source = GaussianCurve(mu), "exact Gaussian accounting of all phases"
        return Claim(
            epsilon=epsilon,
            delta=self.delta,
            unit="the generator",
            adjacency="replace",
            curve=curve,
            source=source,
        )

    adversary = "has the generator and synthetic records; knows all records but which of two was in"
    deployment = (
        "who gets synthetic records alone sees what the attack nearest sees; a generator that "
        "shows little of one record may show more of another"
    )
    breaks = (
        "Look for what breaks the claim: dpaudit explain p3gm; the parts have audits of their own, "
        "p3gm-pca and p3gm-em."
    )
    backend = "torch"
    backend_reason = "not native: it knows no loss but cross-entropy"

    @property
    def cautions(self) -> list[str]:
        """What a user may have got wrong without noticing."""
        batch = 1 if self._batch == "full" else int(self._batch)
        found = delta_too_large(self.delta, self.records) + batch_too_large(batch, self.records)
        if self._by_theorem:
            found.append(
                "parts of this claim are refuted, by p3gm-pca and by p3gm-em: to find no violation "
                "in the whole does not restore it"
            )
        return found

    def about(self, pair: Pair) -> Mapping[str, Any]:
        """What a report tells of the training."""
        d, steps = self.design, self.design.steps
        told = {
            "network": f"{self._first_phase}{d.model}, {d.hidden} wide, by Adam",
            "steps": steps.count,
            "batch": steps.expected,
            "sample_rate": steps.sample_rate,
            "lr": steps.lr,
            "clip": steps.clip,
            "noise_multiplier": steps.noise_multiplier,
            "dropout": 0.0,
            "start": "random" if d.model == "vae" else "taught",
        }
        return {"training": told}

    @property
    def _first_phase(self) -> str:
        d = self.design
        if d.model == "vae":
            return ""
        return (
            f"{d.latent} directions by DP-PCA ({d.pca} noise, epsilon {self.epsilon_pca:g}), "
            f"{d.components} components by DP-EM ({d.em}, {d.iterations} iterations, noise "
            f"{d.em_noise:g}), then "
        )

    # ------------------------------------------------------------ the game

    @property
    def example(self) -> Observation:
        """What is seen of a trial, but for its numbers."""
        names = ["nearest", "reconstruction", "elbo"]
        names += [] if self.design.model == "vae" else ["subspace"]
        return {name: np.zeros(()) for name in names}

    def play(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        """A generator for each trial, and how well it knows the canary."""
        c = pair.canary
        canary = with_labels(Records(c.x[None], np.array([c.y])), self.classes)
        with one_thread():
            return [self._seen(self._fitted(pair, trial), canary, trial.seed) for trial in trials]

    def _fitted(self, pair: Pair, trial: Trial) -> Generator:
        return fit(self.design, pair.world(trial.world), self.classes, trial.seed)

    def _seen(self, made: Generator, canary: Array, seed: int) -> Observation:
        error, elbo = made.looked_at(canary)
        synthetic = made.sample(self.rows, seed).x
        apart = np.linalg.norm(synthetic - canary[:, : -self.classes], axis=1)
        seen = {"nearest": apart.min(), "reconstruction": error[0], "elbo": elbo[0]}
        if (inside := made.embedded(canary)) is not None:
            seen["subspace"] = np.sum(inside**2)
        return {name: np.array(float(x)) for name, x in seen.items()}


def _radius(shadow: Records, classes: int) -> float:
    """The median length of the shadow set's records, which is public."""
    return float(np.median(np.linalg.norm(with_labels(shadow, classes), axis=1)))
