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
from dpaudit.papers.p3gm.design import Design, Steps, proportions, shared, with_labels
from dpaudit.seeds import generator, stream
from dpaudit.types import Array, Records

if TYPE_CHECKING:
    from dpaudit.papers.p3gm.variational import Kind, Variational

ROUNDS = 20
"""How often as many rows are drawn again, until there are enough of each label."""


@dataclass(frozen=True)
class Generator:
    """A fitted generator, and what it can be asked.

    It has the labels' shares only with noise, or if nothing of it has any.
    """

    design: Design
    classes: int
    projection: Array | None
    prior: em.Mixture
    proportions: Array | None
    network: Variational

    def embedded(self, rows: Array) -> Array | None:
        """f(x), the given means of q(z|x); None of a model that learns them."""
        if self.projection is None:
            return None
        return np.asarray(pca.inside(self.design, rows, self.classes) @ self.projection)

    def drawn(self, n: int, draw: np.random.Generator) -> Array:
        """Rows of features and label scores, as the model has them."""
        from dpaudit.papers.p3gm.variational import decoded

        return decoded(self.network, self.prior.sample(n, draw))

    def sample(self, n: int, seed: int, proportioned: bool = False) -> Records:
        """Synthetic records with labels, those whose block says most.

        `proportioned` gives each label its (noisy) share of the training records: where the model
        says a label too rarely, the likeliest rows that are left of many draws.
        """
        draw = generator(seed, "synthetic")
        if not proportioned:
            return _records(self.drawn(n, draw), self.classes)
        if self.proportions is None:
            raise BadInput(
                "the labels' shares have no noise; set the design's label_noise",
                "needs-label-noise",
                option="label_noise",
            )
        wanted, there = shared(self.proportions, n), np.zeros(self.classes, dtype=np.int64)
        rounds: list[Array] = []
        while len(rounds) < ROUNDS and (there < wanted).any():
            rounds.append(self.drawn(n, draw))
            said = rounds[-1][:, -self.classes :].argmax(axis=1)
            there += np.bincount(said, minlength=self.classes)
        rows = np.concatenate(rounds)
        labels = _dealt(rows[:, -self.classes :], wanted)
        chosen = np.concatenate([np.flatnonzero(labels == y) for y in range(self.classes)])
        return Records(rows[chosen, : -self.classes], labels[chosen])

    def looked_at(self, rows: Array) -> tuple[Array, Array]:
        """Of rows with labels the squared error of their reconstruction, and their ELBO."""
        from dpaudit.papers.p3gm.variational import Prior, looked_at

        given, prior = self.embedded(rows), Prior(*self.prior)
        return looked_at(self.network, rows, given, prior, self.design.network.likelihood)


def fit(
    design: Design,
    records: Records,
    classes: int,
    seed: int,
    watch: Callable[[Generator, int], None] | None = None,
) -> Generator:
    """A generator; all its randomness is the seed's.

    `watch` is shown the generator as it is after so many steps of the second phase, from 0 on:
    what it looks at is as private as the end, because all steps are paid for.
    """
    from dpaudit.papers.p3gm.variational import Prior, built, train

    checks.refuse(
        [
            None
            if _within(records.x, 0, 1)
            else BadInput("values must be from 0 to 1; scale them", "out-of-range", option="x"),
            None
            if records.y.dtype.kind in "iu" and _within(records.y, 0, classes - 1)
            else BadInput(
                f"labels must be whole numbers from 0 to {classes - 1}", "out-of-range", option="y"
            ),
        ]
    )
    rows = with_labels(records, classes)
    known = design.first.label_noise or not design.noisy
    shares = proportions(records, classes, design.first.label_noise, seed) if known else None
    kind: dict[str, Kind] = {"p3gm": "variance", "ae": "none", "vae": "whole"}
    latent = design.width(classes)
    how = design.network
    seeded = stream(seed, "network")
    network = built(rows.shape[1], latent, how.hidden, kind[how.model], seeded)
    if how.model == "vae":
        standard = em.Mixture(np.ones(1), np.zeros((1, latent)), np.ones((1, latent)))
        made = Generator(design, classes, None, standard, shares, network)
    else:
        projection, mixture = pca.learned(design, rows, classes, seed)
        made = Generator(design, classes, projection, mixture, shares, network)
        _pretrain(made, stream(seed, "pretraining"))
    train(
        network,
        rows,
        made.embedded(rows),
        Prior(*made.prior),
        how.likelihood,
        design.steps,
        stream(seed, "training"),
        None if watch is None else lambda step: watch(made, step),
    )
    return made


def _pretrain(made: Generator, seed: int) -> None:
    """Let the decoder undo the projection, on points of the mixture: no record is looked at."""
    from dpaudit.papers.p3gm.variational import built, train

    design, n = made.design, 1000
    if not design.pretraining or made.projection is None:
        return
    z = made.prior.sample(n, generator(seed, "points"))
    seen = np.clip(pca.outside(design, z @ made.projection.T, made.classes), 0, 1)
    alone = built(seen.shape[1], z.shape[1], design.network.hidden, "none", seed)
    alone.decoder = made.network.decoder
    steps = Steps(design.pretraining, 0.1, 0.1 * n, lr=3e-3)
    train(alone, seen, z, None, design.network.likelihood, steps, seed)


def _dealt(said: Array, wanted: Array) -> Array:
    """A label for so many rows each, by what rows say of labels; -1 for the others."""
    first, labels = said.argmax(axis=1), np.full(len(said), -1, dtype=np.int64)
    for y, many in enumerate(wanted):
        labels[np.flatnonzero(first == y)[:many]] = y
    for y, many in enumerate(wanted):
        left = np.flatnonzero(labels < 0)
        likeliest = left[np.argsort(-said[left, y], kind="stable")]
        labels[likeliest[: many - np.count_nonzero(labels == y)]] = y
    return labels


def _within(values: Array, low: float, high: float) -> bool:
    """Whether there are some, and all are: not a number is not."""
    return values.size > 0 and bool(values.min() >= low and values.max() <= high)


def _records(rows: Array, classes: int) -> Records:
    return Records(rows[:, :-classes], rows[:, -classes:].argmax(axis=1).astype(np.int64))
