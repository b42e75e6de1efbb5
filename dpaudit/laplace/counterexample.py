"""Where Theorem 4 fails: a single parameter that later batches tell about the record.

Lemma 2 lets every step see nothing but its own previous output. But the gradient of one parameter
depends on all others, and these have noise of their own: added up, they show the record.
"""

from __future__ import annotations

import numpy as np


def released(
    record: float, later: int, others: int, epsilon: float, draw: np.random.Generator
) -> float:
    """One parameter after an epoch of 1 + `later` batches, with updates in [-1, 1].

    The first batch holds the record, which moves all parameters to one side: `record` is -1 or 1.
    Those after it do not hold it. Their gradient of this parameter follows the sign of the others'
    sum, as that of a steep enough network does, and leaves the others alone. Every update of every
    parameter has its Laplace noise, of 2/epsilon, and is clamped.
    """
    noise = draw.laplace(scale=2 / epsilon, size=(1 + later, 1 + others))
    first = np.clip(record + noise[0], -1, 1)
    # What the others add up to before each later batch: with noise of their own, and no more.
    steps = np.clip(noise[1:, 1:], -1, 1).sum(axis=1)
    rest = first[1:].sum() + np.cumsum(steps) - steps
    return float(first[0] + np.clip(np.sign(rest) + noise[1:, 0], -1, 1).sum())
