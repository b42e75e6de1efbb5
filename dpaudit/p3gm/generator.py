"""The phased generator: where records lie is learned first, then how to draw them from there.

Takagi, Takahashi, Cao and Yoshikawa, P3GM: Private High-Dimensional Data Release via Privacy
Preserving Phased Generative Model (2021; their first paper on it is in Japanese).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from dpaudit.p3gm import em, pca
from dpaudit.seeds import generator, stream
from dpaudit.types import Array, Records

if TYPE_CHECKING:
    from dpaudit.training.variational import Kind, Steps, Variational

Model: TypeAlias = Literal["p3gm", "ae", "vae"]
MODELS: tuple[Model, ...] = ("p3gm", "ae", "vae")

ROUNDS = 20
"""How often as many rows are drawn again, until there are enough of each label."""


@dataclass(frozen=True)
class Design:
    """How a generator is fitted; noise of 0 is none.

    `p3gm` learns the variance of q(z|x) with the decoder, `ae` has it fixed at 0, `vae` has
    neither the phases nor their noise. `pca_noise` is epsilon_p of Wishart noise, else s_p, and
    `radius` what records are divided by before they are cut to the unit ball: public, as all of
    this is.
    """

    model: Model
    latent: int
    hidden: int
    components: int
    iterations: int
    steps: Steps
    radius: float = 1.0
    pca: str = "gaussian"
    pca_noise: float = 0.0
    em: str = "safe"
    em_noise: float = 0.0
    label_noise: float = 0.0
    likelihood: str = "bernoulli"
    pretraining: int = 300


@dataclass(frozen=True)
class Generator:
    """A fitted generator, and what it can be asked."""

    design: Design
    classes: int
    projection: Array | None
    prior: em.Mixture
    proportions: Array
    network: Variational

    def embedded(self, rows: Array) -> Array | None:
        """f(x), the given means of q(z|x); None of a model that learns them."""
        if self.projection is None:
            return None
        return np.asarray(pca.within_unit_ball(rows / self.design.radius) @ self.projection)

    def drawn(self, n: int, draw: np.random.Generator) -> Array:
        """Rows of features and label scores, as the model has them."""
        from dpaudit.training.variational import decoded

        return decoded(self.network, self.prior.sample(n, draw))

    def sample(self, n: int, seed: int, proportioned: bool = False) -> Records:
        """Synthetic records with labels, those whose block says most.

        `proportioned` gives each label its (noisy) share of the training records: the likeliest
        rows of many draws where the model says a label too rarely.
        """
        draw = generator(seed, "synthetic")
        if not proportioned:
            return _records(self.drawn(n, draw), self.classes)
        rows = np.concatenate([self.drawn(n, draw) for _ in range(ROUNDS)])
        said = rows[:, -self.classes :]
        wanted = _shared(self.proportions, n)
        label, chosen, labels = said.argmax(axis=1), [], []
        for y, many in enumerate(wanted):
            own = np.flatnonzero(label == y)[:many]
            if len(own) < many:
                own = np.argsort(-said[:, y], kind="stable")[:many]
            chosen.append(own)
            labels.append(np.full(len(own), y))
        x = rows[np.concatenate(chosen), : -self.classes]
        return Records(x, np.concatenate(labels).astype(np.int64))

    def looked_at(self, rows: Array) -> tuple[Array, Array]:
        """Of rows with labels the squared error of their reconstruction, and their ELBO."""
        from dpaudit.training.variational import Prior, looked_at

        given, prior = self.embedded(rows), Prior(*self.prior)
        return looked_at(self.network, rows, given, prior, self.design.likelihood)


def with_labels(records: Records, classes: int) -> Array:
    """Records in rows, each followed by its label as a block of zeros with a one."""
    flat = np.asarray(records.x, dtype=np.float64).reshape(len(records), -1)
    return np.concatenate([flat, np.eye(classes)[records.y]], axis=1)


def fit(design: Design, records: Records, classes: int, seed: int) -> Generator:
    """A generator; all its randomness is the seed's."""
    from dpaudit.training.variational import Prior, built, train

    rows = with_labels(records, classes)
    proportions = _proportions(records, classes, design.label_noise, seed)
    kind: dict[Model, Kind] = {"p3gm": "variance", "ae": "none", "vae": "whole"}
    network = built(
        rows.shape[1], design.latent, design.hidden, kind[design.model], stream(seed, "network")
    )
    if design.model == "vae":
        standard = em.Mixture(np.ones(1), np.zeros((1, design.latent)), np.ones((1, design.latent)))
        made = Generator(design, classes, None, standard, proportions, network)
    else:
        projection, mixture = embedding(design, rows, seed)
        made = Generator(design, classes, projection, mixture, proportions, network)
        _pretrain(made, stream(seed, "pretraining"))
    train(
        network,
        rows,
        made.embedded(rows),
        Prior(*made.prior),
        design.likelihood,
        design.steps,
        stream(seed, "training"),
    )
    return made


def embedding(design: Design, rows: Array, seed: int) -> tuple[Array, em.Mixture]:
    """The first phase: the projection, and the mixture of what is projected."""
    n, inside = len(rows), pca.within_unit_ball(rows / design.radius)
    a, draw = pca.second_moment(inside), generator(seed, "pca")
    if design.pca_noise:
        noisy = {"wishart": pca.wishart, "gaussian": pca.gaussian}[design.pca]
        a = noisy(a, n, design.pca_noise, draw)
    projection = pca.components(a, design.latent)
    first = em.start(design.components, design.latent, generator(seed, "em", "start"))
    mixture = em.fit(
        *(inside @ projection, first, design.iterations, design.em_noise, design.em),
        generator(seed, "em"),
    )
    return projection, mixture


def _pretrain(made: Generator, seed: int) -> None:
    """Let the decoder undo the projection, on points of the mixture: no record is looked at."""
    from dpaudit.training.variational import Steps, Variational, train

    design, n = made.design, 1000
    if not design.pretraining or made.projection is None:
        return
    z = made.prior.sample(n, generator(seed, "points"))
    seen = np.clip(design.radius * z @ made.projection.T, 0, 1)
    alone = Variational(seen.shape[1], design.latent, design.hidden, "none")
    alone.decoder = made.network.decoder
    steps = Steps(design.pretraining, 0.1, 0.1 * n, lr=3e-3)
    train(alone, seen, z, None, design.likelihood, steps, seed)


def _proportions(records: Records, classes: int, noise: float, seed: int) -> Array:
    """The labels' shares; their counts have noise of s sqrt(2), what replacing one moves."""
    counts = np.bincount(records.y, minlength=classes).astype(np.float64)
    counts += noise * np.sqrt(2) * generator(seed, "labels").normal(size=classes)
    counts = np.maximum(counts, 1.0)
    return np.asarray(counts / counts.sum())


def _shared(proportions: Array, n: int) -> Array:
    """Whole numbers of n by proportion: the largest remainders are rounded up."""
    exact = proportions * n
    whole = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - whole), kind="stable")[: n - whole.sum()]
    whole[most] += 1
    return np.asarray(whole)


def _records(rows: Array, classes: int) -> Records:
    return Records(rows[:, :-classes], rows[:, -classes:].argmax(axis=1).astype(np.int64))


def without_noise(design: Design) -> Design:
    """The same generator without privacy: PGM of P3GM, VAE of DP-VAE."""
    steps = replace(design.steps, noise_multiplier=0.0, clip=float("inf"))
    return replace(design, pca_noise=0.0, em_noise=0.0, label_noise=0.0, steps=steps)
