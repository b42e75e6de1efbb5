"""Formulas as the paper prints them, where they are wrong or looser than they could be.

Nothing private is made by them. They are kept so that what they say can be held against what is
true, and the numbers below are the tests' known answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpaudit.papers.laplace.network import Network
from dpaudit.types import Array


def lemma_1(f: Array, low: float, high: float, scale: float, draw: np.random.Generator) -> Array:
    """min(f_min, max(f_max, f + Lap)): a constant, f_min, that says nothing of f at all."""
    noisy = f + draw.laplace(scale=scale, size=np.shape(f))
    return np.minimum(low, np.maximum(high, noisy))


def upper_mass(f: float, high: float, scale: float) -> float:
    """(13), exp(-(f - f_max)/b)/2: above 1/2. With f = .3, f_max = 1 and b = 2 it is .7095."""
    return float(np.exp(-(f - high) / scale) / 2)


def anonymized_update(w: Array, high: float, scale: float, draw: np.random.Generator) -> Array:
    """min(max, min(max, w + Lap)) for an update: of w, not of dw, and without a lower limit."""
    noisy = w + draw.laplace(scale=scale, size=np.shape(w))
    return np.minimum(high, np.minimum(high, noisy))


def product_of_sums(outputs: Array, errors: Array) -> Array:
    """(4) after 'the sum is the new delta': y and delta each added up, then multiplied.

    What changes a weight is the sum of the products.
    """
    return np.outer(outputs.sum(axis=0), errors.sum(axis=0))


def input_ranges(network: Network, flat: Array) -> Sequence[tuple[Array, Array]]:
    """(20) and (21): the least and the largest x of every layer, without the outputs' lower ends.

    Valid, and looser than `Network.ranges`; but the largest output of (21) may be below 0, where
    no output is, and every x after it is then wrong.
    """
    highest = np.ones(network.nodes[0])
    found = []
    for w, b in network.layers(flat):
        low, high = b + highest @ np.minimum(w, 0), b + highest @ np.maximum(w, 0)
        found.append((low, high))
        highest = high
    return found
