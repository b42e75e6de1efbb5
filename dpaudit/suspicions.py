"""What is odd about the models of a run, whatever the attacks make of them."""

from __future__ import annotations

import numpy as np

from dpaudit.types import Observations


def suspicions(seen: Observations) -> list[str]:
    """Warnings that a reader of a report should have."""
    return [*_diverged(seen), *_repeated(seen)]


def _diverged(seen: Observations) -> list[str]:
    """A warning where models released what is no number."""
    released = [a.reshape(len(a), -1) for a in seen.values() if a.dtype.kind == "f" and a.size]
    bad = np.any([~np.isfinite(a).all(axis=1) for a in released], axis=0) if released else None
    if bad is None or not bad.any():
        return []
    return [f"{bad.sum()} of {len(bad)} models diverged (they release NaN or infinity); lower --lr"]


def _repeated(seen: Observations) -> list[str]:
    """A warning where models are equal to the last bit: their randomness was not their own."""
    logits = seen.get("logits")
    if logits is None or logits.dtype.kind != "f":
        return []
    usable = logits[np.isfinite(logits).all(axis=tuple(range(1, logits.ndim)))]
    repeated = len(usable) - len(np.unique(usable, axis=0))
    if not repeated:
        return []
    return [
        f"{repeated} of {len(logits)} models say exactly the same of the canary as another one; "
        "trials that share their randomness prove nothing"
    ]
