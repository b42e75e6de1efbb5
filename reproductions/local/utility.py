"""What hiding the parameter is worth: errors of the frequency estimators at equal strength.

The paper's Fig. 3 and Fig. 4. Hidden, users report by the population's own parameters; public, by
those whose local differential privacy is the E'(theta) that hiding promised. Whether E' is worth
anything is another question: see `dpaudit.papers.local.users`.
"""

from __future__ import annotations

import math

import numpy as np

from dpaudit import checks
from dpaudit.papers.local import Population
from dpaudit.papers.local.users import strength
from dpaudit.types import Array
from reproductions.local import frequency

TRUTHS = np.linspace(0.5, 1, 5001)[:-1]
"""Probabilities of a true answer that are tried: E' neither rises nor falls with them."""


def as_strong(population: Population) -> Population:
    """Binary users of the same shares whose local differential privacy is each one's E'(theta)."""
    strengths = [strength(population, theta) for theta in range(len(population))]
    return Population.of_binary(
        [1 / (1 + math.exp(-e)) for e in strengths], population.shares.tolist()
    )


def as_promised(epsilon: float, share: float, other: float = 0.6) -> Population:
    """Two kinds of which the first, of this share, answers as truly as E' = epsilon allows.

    Another reading of Fig. 3, whose 'E(w) constant' can also mean the same promise at every share,
    where `as_strong` has the same truth. The second kind answers truly with `other`.
    """
    checks.refuse([checks.positive("epsilon", epsilon)])
    kinds = (Population.of_binary([p, other], [share, 1 - share]) for p in TRUTHS[::-1])
    return next(kind for kind in kinds if strength(kind, 0) <= epsilon + 1e-9)


def errors(
    hidden: Population, public: Population, users: int, share: float, rounds: int, seed: int
) -> dict[str, float]:
    """The mean squared error of each estimator, by its name, over so many experiments.

    Both the users with the value d0 and those with each parameter are a fixed number, the nearest
    to their shares; which of them go together is drawn anew in every experiment.
    """
    checks.refuse(
        [
            checks.at_least("users", users, 2),
            checks.at_least("rounds", rounds, 1),
            checks.of("share", checks.in_range("the share of d0", share, 0, 1)),
        ]
    )
    draw = np.random.default_rng(seed)
    sizes, having = _sizes(hidden.shares, users), round(users * share)
    truth = having / users
    d0 = draw.multivariate_hypergeometric(sizes, having, size=rounds)
    found = {}
    for name, population in (("hidden", hidden), ("public", public)):
        # Of the numbers of users that there are, not of the shares that they were rounded from.
        there = Population(population.matrices, sizes)
        zeros = _zeros(there, d0, sizes, draw)
        for how in ("unbiased", "mle"):
            estimate = getattr(frequency, f"{name}_{how}")(there, zeros, sizes)
            both = np.stack([estimate, 1 - estimate], axis=-1)
            mean = frequency.error(both, np.array([truth, 1 - truth])).mean()
            found[f"{name} {how}"] = float(mean)
    return found


def _sizes(shares: Array, users: int) -> Array:
    """Whole numbers of users by share; the last has what is left."""
    first = np.rint(shares[:-1] * users).astype(np.int64)
    return np.append(first, users - first.sum())


def _zeros(population: Population, d0: Array, sizes: Array, draw: np.random.Generator) -> Array:
    """How many users of each parameter report d0, of whom so many have it."""
    p = population.matrices[:, 0]
    return np.asarray(draw.binomial(d0, p[:, 0]) + draw.binomial(sizes - d0, p[:, 1]))
