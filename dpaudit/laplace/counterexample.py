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
    Those after it do not hold it. Their loss is -|s| - w sign(s), of this parameter w and of the
    others' sum s: its gradient moves every parameter to the side on which the others' sum lies, and
    so keeps that sum from being forgotten. Every update of every parameter has its Laplace noise,
    of 2/epsilon, and is clamped.
    """
    noise = draw.laplace(scale=2 / epsilon, size=(1 + later, 1 + others))
    moved, parameters = record, np.zeros(1 + others)
    for batch in noise:
        parameters += np.clip(moved + batch, -1, 1)
        moved = np.sign(parameters[1:].sum())
    return float(parameters[0])
