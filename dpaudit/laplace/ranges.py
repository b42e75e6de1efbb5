"""How far one record, whatever it holds, can move each parameter: section 4-2 (3), (20) to (26).

Intervals are pushed forward through the layers, from inputs in [0, 1], and errors back. They depend
on the current parameters alone, not on data.
"""

from __future__ import annotations

import numpy as np

from dpaudit.laplace.network import Network
from dpaudit.types import Array


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
