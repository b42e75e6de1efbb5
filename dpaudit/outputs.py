"""What is made of a network's outputs before anybody looks: probabilities, mean and deviation."""

from __future__ import annotations

import numpy as np

from dpaudit.types import Array, Observations

CHUNK = 1 << 22
"""Numbers that are in double precision at once."""

NO_LABEL = -1


def with_statistics(seen: Observations) -> Observations:
    """The observations with `mean` and `std` of the T probabilities beside `mc`, if that is there.

    In double precision, over (rows, T, classes); a mechanism or a defence may also release the
    two alone.
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
    """The population standard deviation; exactly 0 where all values are equal.

    Without that care the rounding of the mean leaves 1e-17 where 0 is meant, and its inverse
    would be a huge number instead of infinity.
    """
    return np.where(p.min(axis) == p.max(axis), 0.0, p.std(axis))


def softmax(z: Array) -> Array:
    """Probabilities of logits, over the last axis."""
    with np.errstate(invalid="ignore"):  # a diverged model releases infinities
        e = np.exp(z - z.max(axis=-1, keepdims=True))
        probabilities: Array = e / e.sum(axis=-1, keepdims=True)
    return probabilities


def labels_of(outputs: Array) -> Array:
    """The largest class of each row; NO_LABEL where there is none, or more than one."""
    top = outputs.max(axis=-1, keepdims=True)
    alone = (outputs == top).sum(axis=-1) == 1  # a NaN is equal to nothing
    return np.where(alone, outputs.argmax(axis=-1), NO_LABEL)
