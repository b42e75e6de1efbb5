"""DP-EM: a mixture of Gaussians, of diagonal variances, fitted to points in the unit ball.

Park, Foulds, Chaudhuri and Welling, DP-EM: Differentially Private Expectation Maximization (2016).
The E-step takes the noisy parameters, so that what one record puts into the M-step depends on
nothing else that is private. Each iteration releases numbers with Gaussian noise, its deviation s
times their sensitivity if one record is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpaudit import checks
from dpaudit.types import IN, OUT, Array

LEAST_VARIANCE, LEAST_WEIGHT = 1e-3, 1e-3
"""Where noise has left less, a component keeps these."""

LEAST_COUNT = 1e-9
"""Records in a component, where the published noise divides by their number."""


class GaussianMixture(NamedTuple):
    """Weights (K,), means and variances (K, d)."""

    weights: Array
    means: Array
    variances: Array

    def responsibilities(self, x: Array) -> Array:
        """gamma (n, K), the share of each component in each point."""
        m, s = self.means, self.variances
        # (x - m)^2/s as products of matrices, which take a tenth of the time.
        squares = x**2 @ (1 / s).T - 2 * x @ (m / s).T + (m**2 / s).sum(axis=1)
        logs = np.log(self.weights) - 0.5 * (squares + np.log(2 * np.pi * s).sum(axis=1))
        gamma = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))

    def sample(self, n: int, draw: np.random.Generator) -> Array:
        """Draw points of the mixture."""
        of = draw.choice(len(self.weights), size=n, p=self.weights)
        z = draw.normal(size=(n, self.means.shape[1]))
        return np.asarray(self.means[of] + np.sqrt(self.variances[of]) * z)


def start(components: int, latent: int, draw: np.random.Generator) -> GaussianMixture:
    """Draw the start of EM without the data, which would cost privacy."""
    checks.refuse(
        [checks.at_least("components", components, 1), checks.at_least("latent", latent, 1)]
    )
    directions = draw.normal(size=(components, latent))
    means = 0.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    even = np.full(components, 1 / components)
    return GaussianMixture(even, means, np.full((components, latent), 0.1))


def start_at_labels(
    components: int, latent: int, classes: int, side: float, draw: np.random.Generator
) -> GaussianMixture:
    """Draw the start of EM if labels have directions of their own; each has its components.

    A label of its block lies at `side` in its direction. So the first E-step tells labels
    apart, and one iteration fits a Gaussian to each where there is one component a label.
    """
    checks.refuse([checks.at_least("components", components, classes)])
    around = 0.0 if components == classes else 0.3
    features = around * start(components, latent, draw).means / 0.5
    labels = side * np.eye(classes)[np.arange(components) % classes]
    variances = np.repeat([0.1, side**2 / 20], [latent, classes])
    return GaussianMixture(
        np.full(components, 1 / components),
        np.concatenate([features, labels], axis=1),
        np.tile(variances, (components, 1)),
    )


class Exact(NamedTuple):
    """The numbers of an M-step without noise, and the deviation of each one's noise."""

    values: Array
    deviations: Array

    def noisy(self, draw: np.random.Generator) -> Array:
        """Draw the released numbers."""
        return np.asarray(self.values + self.deviations * draw.normal(size=len(self.values)))

    def log_density(self, numbers: Array) -> float:
        """ln of the density of released numbers, up to a constant."""
        off = (numbers - self.values) / self.deviations
        return float(-np.sum(np.log(self.deviations) + off**2 / 2))


@dataclass(frozen=True)
class Variant:
    """A way to release an M-step."""

    releases: Callable[[int], int]
    """Gaussian mechanisms of an iteration, for K components."""
    exact: Callable[[Array, GaussianMixture, float], Exact]
    parameters: Callable[[Array, int, int], tuple[Array, Array, Array]]
    """Counts, means and second moments from noisy numbers, for K and n."""

    def next(self, noisy: Array, now: GaussianMixture, n: int) -> GaussianMixture:
        """Return the mixture of released numbers, by post-processing alone."""
        weights, means, squares = self.parameters(noisy, len(now.weights), n)
        weights = np.maximum(weights, LEAST_WEIGHT)
        means = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1.0)
        variances = np.clip(squares - means**2, LEAST_VARIANCE, 1.0)
        return GaussianMixture(weights / weights.sum(), means, variances)


def _moments(x: Array, now: GaussianMixture) -> tuple[Array, Array, Array]:
    gamma = now.responsibilities(x)
    return gamma.sum(axis=0), gamma.T @ x, gamma.T @ x**2


def _published(x: Array, now: GaussianMixture, noise: float) -> Exact:
    """pi_k, mu_k and second moments, with noise of s sqrt(2)/n, s 2/N_k and s sqrt(2)/N_k."""
    counts, sums, squares = _moments(x, now)
    own = np.maximum(counts, LEAST_COUNT)[:, None]
    values = np.concatenate([counts / len(x), (sums / own).ravel(), (squares / own).ravel()])
    each = np.broadcast_to(1 / own, sums.shape).ravel()
    root = np.sqrt(2)
    scales = np.concatenate([np.full(len(counts), root / len(x)), 2 * each, root * each])
    return Exact(values, noise * scales)


def _safe(x: Array, now: GaussianMixture, noise: float) -> Exact:
    """N_k, sums and sums of squares, all k together: sensitivities sqrt(2), 2 and sqrt(2)."""
    counts, sums, squares = _moments(x, now)
    values = np.concatenate([counts, sums.ravel(), squares.ravel()])
    scales = np.repeat([np.sqrt(2), 2, np.sqrt(2)], [counts.size, sums.size, squares.size])
    return Exact(values, noise * scales)


def _parted(numbers: Array, k: int) -> tuple[Array, Array, Array]:
    first, rest = numbers[:k], numbers[k:].reshape(2, k, -1)
    return first, rest[0], rest[1]


def _from_sums(numbers: Array, k: int, n: int) -> tuple[Array, Array, Array]:
    counts, sums, squares = _parted(numbers, k)
    # Fewer would make means of noise alone.
    counts = np.maximum(counts, LEAST_WEIGHT * n)
    return counts / n, sums / counts[:, None], squares / counts[:, None]


VARIANTS: Mapping[str, Variant] = {
    "published": Variant(lambda k: 2 * k + 1, _published, lambda row, k, n: _parted(row, k)),
    "safe": Variant(lambda k: 3, _safe, _from_sums),
}
"""The published variant scales its noise by N_k, which is private."""


def fit(
    x: Array,
    first: GaussianMixture,
    iterations: int,
    noise: float,
    variant: str,
    draw: np.random.Generator,
) -> GaussianMixture:
    """Return the mixture after a number of iterations."""
    how, now = VARIANTS[variant], first
    for _ in range(iterations):
        now = how.next(how.exact(x, now, noise).noisy(draw), now, len(x))
    return now


def log_ratio(
    worlds: tuple[Array, Array],
    world: int,
    first: GaussianMixture,
    iterations: int,
    noise: float,
    variant: str,
    draw: np.random.Generator,
) -> float:
    """ln p'(released)/p(released) of all iterations in a world, for who knows D and D'.

    Who sees what an iteration releases has the parameters that the next begins with, so that
    each release is Gaussian with known mean and deviations in either world.
    """
    how, now, total = VARIANTS[variant], first, 0.0
    for _ in range(iterations):
        both = [how.exact(x, now, noise) for x in worlds]
        noisy = both[world].noisy(draw)
        total += both[IN].log_density(noisy) - both[OUT].log_density(noisy)
        now = how.next(noisy, now, len(worlds[world]))
    return total
