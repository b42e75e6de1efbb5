"""Functions of a network's outputs: probabilities, their mean and deviation, and labels."""

from __future__ import annotations

import numpy as np

from dpaudit.types import Array, Observations

CHUNK = 1 << 22
"""The number of values that are converted to double precision at once."""

NO_LABEL = -1
"""The label of a row without a single largest class."""


def with_statistics(seen: Observations) -> Observations:
    """Return the observations, with `mean` and `std` of the T probabilities if they have `mc`.

    `mc` is (rows, T, classes). The two are in double precision; they may also be released alone.
    """
    if "mc" not in seen:
        return seen
    mc = np.asarray(seen["mc"])
    rows = max(1, CHUNK // max(1, mc[0].size)) if len(mc) else 1
    means, deviations = [], []
    with np.errstate(invalid="ignore"):  # a diverged model releases NaN
        for i in range(0, len(mc), rows):
            p = mc[i : i + rows].astype(np.float64)
            means.append(p.mean(axis=1))
            deviations.append(deviation(p, axis=1))
    return {"mean": np.concatenate(means), "std": np.concatenate(deviations), **seen}


def deviation(p: Array, axis: int) -> Array:
    """Return the population standard deviation, exactly 0 if all values are equal.

    The rounding of the mean would leave 1e-17, whose inverse is a huge number and not infinity.
    """
    return np.where(p.min(axis) == p.max(axis), 0.0, p.std(axis))


def softmax(z: Array) -> Array:
    """Return the probabilities of logits, over the last axis."""
    with np.errstate(invalid="ignore"):  # a diverged model releases infinities
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        probabilities: Array = e / e.sum(axis=-1, keepdims=True)
    return probabilities


def labels_of(outputs: Array) -> Array:
    """Return the largest class of each row; NO_LABEL if there is none, or more than one."""
    top = outputs.max(axis=-1, keepdims=True)
    alone = (outputs == top).sum(axis=-1) == 1  # a NaN is equal to nothing
    return np.where(alone, outputs.argmax(axis=-1), NO_LABEL)
