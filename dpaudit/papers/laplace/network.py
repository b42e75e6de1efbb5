"""Fully connected networks, the limits of their parameters, and how far a record moves each.

Numbers in brackets are the paper's: (1) to (6) and (16) to (19) define the network, (20) to (26)
the ranges.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.outputs import softmax
from dpaudit.seeds import generator
from dpaudit.types import Array, Records

Layers = Sequence[tuple[Array, Array]]
"""Weights (inputs, outputs) and biases (outputs,) of each layer, first to last."""


@dataclass(frozen=True)
class Network:
    """The number of nodes of each layer, inputs and classes included.

    Parameters are one flat array. ReLU inside, softmax and cross-entropy at the end::

        x_j^l = sum_i y_i^(l-1) w_ij^l + b_j^l,  y^l = max(x^l, 0),  y^L = softmax(x^L)
        delta^L = y^L - t,  delta_i^l = 1[x_i^l > 0] sum_j w_ij^(l+1) delta_j^(l+1)
        dw_ij^l = y_i^(l-1) delta_j^l and db_j^l = delta_j^l, summed over the records of a batch

    As printed, (3) sums over another index, and errors are summed before they are multiplied. The
    paper's '4 hidden layers, 5 with input and output' is impossible; any number is allowed here.
    """

    nodes: tuple[int, ...]

    @classmethod
    def of(cls, inputs: int, hidden: int, width: int, classes: int) -> Network:
        """Return a network whose hidden layers all have one width."""
        return cls((inputs, *[width] * hidden, classes))

    @property
    def parameters(self) -> int:
        """The number of weights and biases."""
        return sum((i + 1) * j for i, j in pairwise(self.nodes))

    @cached_property
    def is_bias(self) -> Array:
        """True for each parameter that is a bias."""
        parts = [np.repeat([False, True], [i * j, j]) for i, j in pairwise(self.nodes)]
        return np.concatenate(parts)

    def layers(self, flat: Array) -> Layers:
        """Return views of the parameters as weights and biases."""
        found, at = [], 0
        for i, j in pairwise(self.nodes):
            w, b = flat[at : at + i * j].reshape(i, j), flat[at + i * j : at + (i + 1) * j]
            found.append((w, b))
            at += (i + 1) * j
        return found

    def flat(self, layers: Layers) -> Array:
        """Return the parameters as one array."""
        return np.concatenate([part.reshape(-1) for layer in layers for part in layer])

    def initial(self, seed: int) -> Array:
        """Draw weights of variance 2/inputs (He et al. 2015); biases are 0."""
        draw = generator(seed, "laplace", "initial")
        shapes = list(pairwise(self.nodes))
        weights = [draw.normal(0, np.sqrt(2 / i), (i, j)) for i, j in shapes]
        return self.flat([(w, np.zeros(w.shape[1])) for w in weights])

    def outputs(self, flat: Array, x: Array) -> list[Array]:
        """Return y^0 to y^L of every record; the last are probabilities of classes."""
        y, found = x, [x]
        layers = self.layers(flat)
        for depth, (w, b) in enumerate(layers, start=1):
            into = y @ w + b
            y = softmax(into) if depth == len(layers) else np.maximum(into, 0)
            found.append(y)
        return found

    def errors(self, flat: Array, outputs: Sequence[Array], y: Array) -> list[Array]:
        """Return delta^1 to delta^L of every record of class y."""
        delta = outputs[-1].copy()
        delta[np.arange(len(y)), y] -= 1
        found = [delta]
        layers = self.layers(flat)
        for (w, _), out in zip(layers[:0:-1], outputs[-2:0:-1], strict=True):
            delta = (out > 0) * (delta @ w.T)
            found.append(delta)
        return found[::-1]

    def _inputs_and_errors(self, flat: Array, x: Array, y: Array) -> Iterable[tuple[Array, Array]]:
        """Return y^(l-1) and delta^l of each layer."""
        outputs = self.outputs(flat, x)
        return zip(outputs[:-1], self.errors(flat, outputs, y), strict=True)

    def gradient_sum(self, flat: Array, x: Array, y: Array) -> Array:
        """Return the sum of all records' dw and db."""
        parts = self._inputs_and_errors(flat, x, y)
        return self.flat([(before.T @ delta, delta.sum(axis=0)) for before, delta in parts])

    def clipped_sum(self, flat: Array, x: Array, y: Array, low: Array, high: Array) -> Array:
        """Return the same sum with each record's own clipped to limits first.

        Without limits a record may change the sum by any amount, and Lemma 1 does not apply.
        """
        sums = []
        limits = zip(self.layers(low), self.layers(high), strict=True)
        parts = zip(self._inputs_and_errors(flat, x, y), limits, strict=True)
        for (before, delta), (lows, highs) in parts:
            each = before[:, :, None] * delta[:, None, :]
            dw = np.clip(each, lows[0], highs[0], out=each).sum(axis=0)
            sums.append((dw, np.clip(delta, lows[1], highs[1]).sum(axis=0)))
        return self.flat(sums)

    def classify(self, flat: Array, x: Array) -> Array:
        """Return the likeliest class of every record."""
        return np.asarray(self.outputs(flat, x)[-1].argmax(axis=1))

    def accuracy(self, flat: Array, test: Records) -> Array:
        """Return the share of test records that are classified correctly."""
        guesses = self.classify(flat, np.clip(rows(test), 0, 1))
        return np.asarray(np.mean(guesses == test.y), dtype=np.float32)

    def ranges(self, flat: Array) -> tuple[Array, Array]:
        """Return the least and largest dw and db that any record in [0, 1] can have: section 4-2.

        Intervals are pushed forward through the layers, and errors back; they depend on the
        current parameters alone. Both ends of outputs are pushed on; (20) as printed drops the
        lower ones, which is looser. The largest output of a hidden node is 0 where its largest
        input is below 0, which (21) denies. At the end delta = y - t is in [-1, 1].
        """
        layers = self.layers(flat)
        highest, least = np.ones(self.nodes[0]), np.zeros(self.nodes[0])
        tops = [highest]
        for w, b in layers[:-1]:
            up, down = np.maximum(w, 0), np.minimum(w, 0)
            highest, least = (
                np.maximum(b + highest @ up + least @ down, 0),
                np.maximum(b + highest @ down + least @ up, 0),
            )
            tops.append(highest)
        ends = -np.ones(self.nodes[-1]), np.ones(self.nodes[-1])
        errors = [ends]
        for w, _ in layers[:0:-1]:
            low, high = ends
            up, down = np.maximum(w, 0), np.minimum(w, 0)
            ends = up @ low + down @ high, up @ high + down @ low
            errors.append(ends)
        # Both intervals of delta contain 0, and y is at least 0: only the largest y counts.
        lows, highs = (
            [(np.outer(top, e[end]), e[end]) for top, e in zip(tops, errors[::-1], strict=True)]
            for end in (0, 1)
        )
        return self.flat(lows), self.flat(highs)


@dataclass(frozen=True)
class Limits:
    """The least and largest value of a weight and of a bias, or of what one record adds to it.

    They must be chosen without the data.
    """

    weights: tuple[float, float]
    biases: tuple[float, float]

    def __post_init__(self) -> None:
        for name, (low, high) in (("weights", self.weights), ("biases", self.biases)):
            if not (math.isfinite(low) and math.isfinite(high) and low <= 0 <= high and low < high):
                problem = (
                    f"the limits of {name} must be two numbers, the first at most 0, the second "
                    f"at least 0, and not both 0; not {low:g} and {high:g}"
                )
                raise BadInput(problem, "out-of-range", option=name, value=(low, high))

    def of(self, network: Network) -> tuple[Array, Array]:
        """Return the limits of every parameter of a network, low and high."""
        low, high = (
            np.where(network.is_bias, bias, weight).astype(np.float64)
            for bias, weight in zip(self.biases, self.weights, strict=True)
        )
        return low, high


def rows(records: Records) -> Array:
    """Return records as rows in double precision."""
    return records.x.reshape(len(records), -1).astype(np.float64)
