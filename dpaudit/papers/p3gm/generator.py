"""The phased generator: where records lie is learned first, then how to draw them from there.

Takagi, Takahashi, Cao and Yoshikawa, P3GM: Private High-Dimensional Data Release via Privacy
Preserving Phased Generative Model (2021; their first paper on it is in Japanese).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpaudit import checks
from dpaudit.errors import BadInput
from dpaudit.papers.p3gm import em, pca
from dpaudit.papers.p3gm.design import AdamRecipe, GeneratorRecipe
from dpaudit.seeds import generator, stream
from dpaudit.types import Array, Records

if TYPE_CHECKING:
    from dpaudit.papers.p3gm.variational import Kind, Variational

ROUNDS = 20
"""Largest number of draws until there are enough rows of each label."""


@dataclass(frozen=True)
class Generator:
    """A fitted generator.

    It has the labels' shares only with noise, or if no phase has any.
    """

    design: GeneratorRecipe
    classes: int
    projection: Array | None
    prior: em.GaussianMixture
    proportions: Array | None
    network: Variational

    def embed(self, rows: Array) -> Array | None:
        """Return f(x), the given means of q(z|x); None if the model learns them."""
        if self.projection is None:
            return None
        return np.asarray(pca.inside(self.design, rows, self.classes) @ self.projection)

    def draw_scores(self, n: int, draw: np.random.Generator) -> Array:
        """Draw rows of features and label scores."""
        from dpaudit.papers.p3gm.variational import decode

        return decode(self.network, self.prior.sample(n, draw))

    def sample(self, n: int, seed: int, proportioned: bool = False) -> Records:
        """Draw synthetic records, each with its likeliest label.

        `proportioned` gives each label its (noisy) share of the training records: where the model
        says a label too rarely, the likeliest rows that are left of many draws.
        """
        draw = generator(seed, "synthetic")
        if not proportioned:
            rows = self.draw_scores(n, draw)
            labels = rows[:, -self.classes :].argmax(axis=1).astype(np.int64)
            return Records(rows[:, : -self.classes], labels)
        if self.proportions is None:
            problem = "the labels' shares have no noise; set the design's label_noise"
            raise BadInput(problem, "needs-label-noise", option="label_noise")
        wanted, there = apportion(self.proportions, n), np.zeros(self.classes, dtype=np.int64)
        rounds: list[Array] = []
        while len(rounds) < ROUNDS and (there < wanted).any():
            rounds.append(self.draw_scores(n, draw))
            likeliest = rounds[-1][:, -self.classes :].argmax(axis=1)
            there += np.bincount(likeliest, minlength=self.classes)
        rows = np.concatenate(rounds)
        labels = _deal_labels(rows[:, -self.classes :], wanted)
        chosen = np.concatenate([np.flatnonzero(labels == y) for y in range(self.classes)])
        return Records(rows[chosen, : -self.classes], labels[chosen])

    def evaluate(self, rows: Array) -> tuple[Array, Array]:
        """Return the squared error of the reconstruction of rows with labels, and their ELBO."""
        from dpaudit.papers.p3gm.variational import evaluate

        likelihood = self.design.network.likelihood
        return evaluate(self.network, rows, self.embed(rows), self.prior, likelihood)


def fit(
    design: GeneratorRecipe,
    records: Records,
    classes: int,
    seed: int,
    watch: Callable[[Generator, int], None] | None = None,
) -> Generator:
    """Fit a generator with the randomness of a seed.

    `watch` is given the generator after so many steps of the second phase, from 0 on: all of them
    are as private as the last, because all steps are accounted for.
    """
    from dpaudit.papers.p3gm.variational import build, train

    problems = []
    if not _within(records.x, 0, 1):
        problem = "values must be from 0 to 1; scale them"
        problems.append(BadInput(problem, "out-of-range", option="x"))
    if records.y.dtype.kind not in "iu" or not _within(records.y, 0, classes - 1):
        problem = f"labels must be whole numbers from 0 to {classes - 1}"
        problems.append(BadInput(problem, "out-of-range", option="y"))
    checks.refuse(problems)
    rows = with_labels(records, classes)
    known = design.first.label_noise or not design.noisy
    shares = proportions(records, classes, design.first.label_noise, seed) if known else None
    kind: dict[str, Kind] = {"p3gm": "variance", "ae": "none", "vae": "whole"}
    latent, how = design.width(classes), design.network
    network = build(rows.shape[1], latent, how.hidden, kind[how.model], stream(seed, "network"))
    if how.model == "vae":
        standard = em.GaussianMixture(np.ones(1), np.zeros((1, latent)), np.ones((1, latent)))
        made = Generator(design, classes, None, standard, shares, network)
    else:
        projection, mixture = pca.fit_first_phase(design, rows, classes, seed)
        made = Generator(design, classes, projection, mixture, shares, network)
        _pretrain(made, stream(seed, "pretraining"))
    train(
        network,
        rows,
        made.embed(rows),
        made.prior,
        how.likelihood,
        design.steps,
        stream(seed, "training"),
        None if watch is None else lambda step: watch(made, step),
    )
    return made


def _pretrain(made: Generator, seed: int) -> None:
    """Teach the decoder to undo the projection, on points of the mixture, without any record."""
    from dpaudit.papers.p3gm.variational import build, train

    design, n = made.design, 1000
    if not design.pretraining or made.projection is None:
        return
    z = made.prior.sample(n, generator(seed, "points"))
    seen = np.clip(pca.outside(design, z @ made.projection.T, made.classes), 0, 1)
    alone = build(seen.shape[1], z.shape[1], design.network.hidden, "none", seed)
    alone.decoder = made.network.decoder
    steps = AdamRecipe(design.pretraining, 0.1, 0.1 * n, lr=3e-3)
    train(alone, seen, z, None, design.network.likelihood, steps, seed)


def _deal_labels(scores: Array, wanted: Array) -> Array:
    """Return labels by the rows' label scores, each for its number of rows; -1 for the others."""
    first, labels = scores.argmax(axis=1), np.full(len(scores), -1, dtype=np.int64)
    for y, many in enumerate(wanted):
        labels[np.flatnonzero(first == y)[:many]] = y
    for y, many in enumerate(wanted):
        left = np.flatnonzero(labels < 0)
        likeliest = left[np.argsort(-scores[left, y], kind="stable")]
        labels[likeliest[: many - np.count_nonzero(labels == y)]] = y
    return labels


def _within(values: Array, low: float, high: float) -> bool:
    """Return whether there are values, all in the range; NaN is not."""
    return values.size > 0 and bool(values.min() >= low and values.max() <= high)


def with_labels(records: Records, classes: int) -> Array:
    """Return records as rows, each followed by its label as a block of zeros with a one."""
    flat = np.asarray(records.x, dtype=np.float64).reshape(len(records), -1)
    return np.concatenate([flat, np.eye(classes)[records.y]], axis=1)


def proportions(records: Records, classes: int, noise: float, seed: int) -> Array:
    """Return the labels' shares; counts have noise of s times their sensitivity sqrt(2)."""
    counts = np.bincount(records.y, minlength=classes).astype(np.float64)
    counts += noise * np.sqrt(2) * generator(seed, "labels").normal(size=classes)
    counts = np.maximum(counts, 1.0)
    return np.asarray(counts / counts.sum())


def apportion(shares: Array, n: int) -> Array:
    """Return whole numbers that add up to n; the largest remainders are rounded up."""
    exact = shares * n
    whole = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - whole), kind="stable")[: n - whole.sum()]
    whole[most] += 1
    return np.asarray(whole)
