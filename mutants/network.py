"""A network of two layers with biases, and each record's own gradient of its loss."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from dpaudit.seeds import generator
from dpaudit.types import Array

PIXELS, HIDDEN, CLASSES = 64, 8, 10

SHAPES = ((HIDDEN, PIXELS), (HIDDEN,), (CLASSES, HIDDEN), (CLASSES,))
"""Of W1, b1, W2 and b2, which lie one after another in one vector."""

_ENDS = np.cumsum([0, *(int(np.prod(shape)) for shape in SHAPES)]).tolist()
W1, B1, W2, B2 = (slice(a, b) for a, b in pairwise(_ENDS))
FIRST, SECOND = slice(W1.start, B1.stop), slice(W2.start, B2.stop)
"""The layers."""

PARAMETERS = _ENDS[-1]


def parts(theta: Array) -> list[Array]:
    """W1, b1, W2 and b2 as views: what is written into them is written into the vector."""
    return [
        theta[where].reshape(shape) for where, shape in zip((W1, B1, W2, B2), SHAPES, strict=True)
    ]


def random_start(seed: int) -> Array:
    """Weights as small as their layer is wide, no biases."""
    theta = np.zeros(PARAMETERS)
    for weights in parts(theta)[::2]:
        draw = generator(seed, "start", weights.shape[1])
        weights[:] = draw.standard_normal(weights.shape) / np.sqrt(weights.shape[1])
    return theta


def probabilities(theta: Array, x: Array) -> tuple[Array, Array]:
    """What the network says of each record, and the hidden layer on the way: ReLU, softmax."""
    w1, b1, w2, b2 = parts(theta)
    hidden = np.maximum(x @ w1.T + b1, 0.0)
    logits = hidden @ w2.T + b2
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True), hidden


def gradients(theta: Array, x: Array, y: Array) -> Array:
    """The gradient of every record's cross-entropy, one row each; none of an empty batch."""
    p, hidden = probabilities(theta, x)
    of_logits = p - np.eye(CLASSES)[y]
    of_hidden = (of_logits @ parts(theta)[2]) * (hidden > 0)
    g = np.empty((len(x), PARAMETERS))
    g[:, W1] = (of_hidden[:, :, None] * x[:, None, :]).reshape(len(x), HIDDEN * PIXELS)
    g[:, B1] = of_hidden
    g[:, W2] = (of_logits[:, :, None] * hidden[:, None, :]).reshape(len(x), CLASSES * HIDDEN)
    g[:, B2] = of_logits
    return g
