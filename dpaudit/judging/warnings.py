"""Warnings of a report, and the reasons why a canary can show nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

import numpy as np

from dpaudit.accounting.curves import within_reach
from dpaudit.types import TEST, Array, Claim, Observations, Pair, Records

RAW = (
    "floating-point side channel (--raw-scores): scores were not rounded, so the verdict may "
    "depend on the low bits of released numbers. A leak that only raw scores show comes from the "
    "implementation's arithmetic, not from the mechanism"
)


def idle_canary(pair: Pair, equal_pairs: int) -> str:
    """Return why a canary cannot change what is released; empty if it may.

    `equal_pairs` is the number of seeds that released the same in both worlds, if all did. A
    canary that is not put in, the null, changes nothing on purpose.
    """
    if pair.canary.inserted and _counted(pair.out) == _counted(pair.inn):
        return "D and D' have the same records, so the canary changes nothing"
    if equal_pairs:
        return (
            "the canary does not change the release: with and without it, each of "
            f"{equal_pairs} seeds released the same"
        )
    return ""


def untested(stored: str, seen: Observations) -> str:
    """Return why a run had nothing to find: the `stored` reason, or all trials are equal."""
    shown = [a for name, a in seen.items() if name != "accuracy" and not name.startswith(TEST)]
    firsts = (np.broadcast_to(a[:1], a.shape) for a in shown)
    if stored or not all(map(partial(np.array_equal, equal_nan=True), shown, firsts)):
        return stored
    return "the canary did not change the release: all trials of both worlds are equal"


def _counted(records: Records) -> Counter[tuple[bytes, int]]:
    """Count equal records, in any order."""
    return Counter((x.tobytes(), int(y)) for x, y in zip(records.x, records.y, strict=True))


def run_warnings(claim: Claim, seen: Observations) -> list[str]:
    """Return the warnings about models that diverged or are equal, and about a claim's curve."""
    found = []
    released = [a.reshape(len(a), -1) for a in seen.values() if a.dtype.kind == "f" and a.size]
    bad = np.any([~np.isfinite(a).all(axis=1) for a in released], axis=0) if released else None
    if bad is not None and bad.any():
        found.append(
            f"{bad.sum()} of {len(bad)} models diverged (they release NaN or infinity); lower --lr"
        )
    if repeated := _repeated(seen.get("logits")):
        found.append(
            f"{repeated} of {len(seen['logits'])} models release exactly the same for the canary "
            "as another model; trials that share their randomness prove nothing"
        )
    if claim.curve is not None and not within_reach(claim.curve):
        found.append(
            "the claim's curve would take minutes and gigabytes to compute, so the bounds do "
            "not use it and show less"
        )
    return found


FAR = 0.1
"""An accuracy so far below that without noise is warned of."""


def low_accuracy(utility: Mapping[str, float]) -> list[str]:
    """Warn of models that are far less accurate than the same network without noise."""
    reached, possible = utility.get("accuracy"), utility.get("accuracy_without_noise")
    if reached is None or possible is None or not reached < possible - FAR:
        return []
    return [
        f"accuracy {100 * reached:.0f} %, and {100 * possible:.0f} % without noise: weak models "
        "hide leaks"
    ]


def _repeated(logits: Array | None) -> int:
    """Return the number of models whose logits are equal to another's: they share randomness."""
    if logits is None or logits.dtype.kind != "f":
        return 0
    usable = logits[np.isfinite(logits).all(axis=tuple(range(1, logits.ndim)))]
    return len(usable) - len(np.unique(usable, axis=0))
