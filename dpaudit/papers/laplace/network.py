"""The paper's networks, (1) to (6) and (16) to (19): ReLU inside, softmax and cross-entropy.

    x_j^l = sum_i y_i^(l-1) w_ij^l + b_j^l,  y^l = max(x^l, 0),  y^L = softmax(x^L)
    delta^L = y^L - t,  delta_i^l = 1[x_i^l > 0] sum_j w_ij^(l+1) delta_j^(l+1)
    dw_ij^l = y_i^(l-1) delta_j^l and db_j^l = delta_j^l, of each record, then added up over a batch

As printed, (3) sums over another index, and errors are added up before they are multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.seeds import generator
from dpaudit.types import Array

# ----------------------------------------------------------------
# The paper's networks, (1) to (6) and (16) to (19): ReLU inside, softmax and cross-entropy.
#
#     x_j^l = sum_i y_i^(l-1) w_ij^l + b_j^l,  y^l = max(x^l, 0),  y^L = softmax(x^L)
#     delta^L = y^L - t,  delta_i^l = 1[x_i^l > 0] sum_j w_ij^(l+1) delta_j^(l+1)
#     dw_ij^l = y_i^(l-1) delta_j^l and db_j^l = delta_j^l, of each record, then added up over a bat
#
# As printed, (3) sums over another index, and errors are added up before they are multiplied.


Layers = Sequence[tuple[Array, Array]]
"""Weights (inputs, outputs) and biases (outputs,) of each layer, first to last."""


@dataclass(frozen=True)
class Network:
    """How many nodes each layer has, inputs and classes included; parameters are one flat array.

    The paper's '4 hidden layers, 5 with input and output' cannot be; how many there are is free.
    """

    nodes: tuple[int, ...]

    @classmethod
    def of(cls, inputs: int, hidden: int, width: int, classes: int) -> Network:
        """So many hidden layers, all of one width."""
        return cls((inputs, *[width] * hidden, classes))

    @property
    def parameters(self) -> int:
        """How many weights and biases there are."""
        return sum((i + 1) * j for i, j in pairwise(self.nodes))

    @cached_property
    def is_bias(self) -> Array:
        """Which of the parameters are biases."""
        parts = [np.repeat([False, True], [i * j, j]) for i, j in pairwise(self.nodes)]
        return np.concatenate(parts)

    def layers(self, flat: Array) -> Layers:
        """Views of the parameters as weights and biases."""
        found, at = [], 0
        for i, j in pairwise(self.nodes):
            w, b = flat[at : at + i * j].reshape(i, j), flat[at + i * j : at + (i + 1) * j]
            found.append((w, b))
            at += (i + 1) * j
        return found

    def flat(self, layers: Layers) -> Array:
        """The parameters as one array."""
        return np.concatenate([part.reshape(-1) for layer in layers for part in layer])

    def initial(self, seed: int) -> Array:
        """Weights of variance 2/inputs (He et al. 2015), biases 0."""
        draw = generator(seed, "laplace", "initial")
        shapes = list(pairwise(self.nodes))
        weights = [draw.normal(0, np.sqrt(2 / i), (i, j)) for i, j in shapes]
        return self.flat([(w, np.zeros(w.shape[1])) for w in weights])

    def outputs(self, flat: Array, x: Array) -> list[Array]:
        """y^0 to y^L of every record: what each layer gives, classes' probabilities at last."""
        y, found = x, [x]
        layers = self.layers(flat)
        for depth, (w, b) in enumerate(layers, start=1):
            into = y @ w + b
            y = softmax(into) if depth == len(layers) else np.maximum(into, 0)
            found.append(y)
        return found

    def errors(self, flat: Array, outputs: Sequence[Array], y: Array) -> list[Array]:
        """delta^1 to delta^L of every record, whose class is y."""
        delta = outputs[-1].copy()
        delta[np.arange(len(y)), y] -= 1
        found = [delta]
        layers = self.layers(flat)
        for (w, _), out in zip(layers[:0:-1], outputs[-2:0:-1], strict=True):
            delta = (out > 0) * (delta @ w.T)
            found.append(delta)
        return found[::-1]

    def gradient_sum(self, flat: Array, x: Array, y: Array) -> Array:
        """Of a batch, the sum over records of what changes each parameter."""
        outputs = self.outputs(flat, x)
        errors = self.errors(flat, outputs, y)
        parts = zip(outputs[:-1], errors, strict=True)
        return self.flat([(before.T @ delta, delta.sum(axis=0)) for before, delta in parts])

    def clipped_sum(self, flat: Array, x: Array, y: Array, low: Array, high: Array) -> Array:
        """The same, each record's own kept between limits before they are added up.

        Without that, how much one record may change is not bounded, and Lemma 1 says nothing.
        """
        outputs = self.outputs(flat, x)
        errors = self.errors(flat, outputs, y)
        sums = []
        limits = zip(self.layers(low), self.layers(high), strict=True)
        for before, delta, (lows, highs) in zip(outputs[:-1], errors, limits, strict=True):
            each = before[:, :, None] * delta[:, None, :]
            dw = np.clip(each, lows[0], highs[0], out=each).sum(axis=0)
            sums.append((dw, np.clip(delta, lows[1], highs[1]).sum(axis=0)))
        return self.flat(sums)

    def classified(self, flat: Array, x: Array) -> Array:
        """The likeliest class of every record."""
        return np.asarray(self.outputs(flat, x)[-1].argmax(axis=1))


def softmax(x: Array) -> Array:
    """(16)."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


# ----------------------------------------------------------------
# Thresholds of weights and biases, which must be chosen without a look at the data.


@dataclass(frozen=True)
class Limits:
    """The least and the largest value of a weight and of a bias; or of what changes one."""

    weights: tuple[float, float]
    biases: tuple[float, float]

    def __post_init__(self) -> None:
        for name, (low, high) in (("weights", self.weights), ("biases", self.biases)):
            if not (math.isfinite(low) and math.isfinite(high) and low <= 0 <= high and low < high):
                raise BadInput(
                    f"the limits of {name} must be two numbers, the first at most 0, the second "
                    f"at least 0, and not both 0; not {low:g} and {high:g}",
                    "out-of-range",
                    option=name,
                    value=(low, high),
                )

    @classmethod
    def read(cls, weights: str, biases: str) -> Limits:
        """From texts such as -1,1."""
        return cls(_two("weights", weights), _two("biases", biases))

    def of(self, network: Network) -> tuple[Array, Array]:
        """The limits of every parameter of a network, low and high."""
        is_bias = network.is_bias
        low, high = (
            np.where(is_bias, self.biases[end], self.weights[end]).astype(np.float64)
            for end in (0, 1)
        )
        return low, high


def _two(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise BadInput(
            f"'{text}' of {name} is not LOW,HIGH, such as -1,1",
            "malformed",
            option=name,
            value=text,
        ) from None
    return low, high


# ----------------------------------------------------------------
# How far one record, whatever it holds, can move each parameter: section 4-2 (3), (20) to (26).
#
# Intervals are pushed forward through the layers, from inputs in [0, 1], and errors back. They depe
# on the current parameters alone, not on data.


def propagated(network: Network, flat: Array) -> tuple[Array, Array]:
    """The least and the largest dw and db that one record can have, for every parameter.

    Of outputs both ends are pushed on; (20) as printed drops the lower ones, which is looser. The
    largest output of a hidden node is 0 where its largest input is below 0, which (21) denies. At
    the end delta = y - t is in [-1, 1].
    """
    layers = network.layers(flat)
    highest, least = np.ones(network.nodes[0]), np.zeros(network.nodes[0])
    tops = [highest]
    for w, b in layers[:-1]:
        up, down = np.maximum(w, 0), np.minimum(w, 0)
        highest, least = (
            np.maximum(b + highest @ up + least @ down, 0),
            np.maximum(b + highest @ down + least @ up, 0),
        )
        tops.append(highest)
    ends = -np.ones(network.nodes[-1]), np.ones(network.nodes[-1])
    errors = [ends]
    for w, _ in layers[:0:-1]:
        low, high = ends
        up, down = np.maximum(w, 0), np.minimum(w, 0)
        ends = up @ low + down @ high, up @ high + down @ low
        errors.append(ends)
    lows, highs = [], []
    for top, (low, high) in zip(tops, errors[::-1], strict=True):
        # Both intervals of delta contain 0, and y is at least 0: only the largest y counts.
        lows.append((np.outer(top, low), low))
        highs.append((np.outer(top, high), high))
    return network.flat(lows), network.flat(highs)
