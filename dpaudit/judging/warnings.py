"""Oddities of a run that a reader must know of, whatever the attacks make of its models."""

from __future__ import annotations

from collections import Counter

import numpy as np

from dpaudit.types import TEST, Array, Observations, Pair, Records


def idle_canary(pair: Pair, equal_pairs: int) -> str:
    """The reason why a canary cannot change what is released; empty where it may.

    `equal_pairs` is the number of seeds that were tried in both worlds, if all of them released
    the same. A canary that is not put in, the null, is idle on purpose.
    """
    if pair.canary.inserted and _same_records(pair):
        return "D and D' hold the same records, so that the canary changes nothing"
    if equal_pairs:
        return (
            "the canary changes nothing that is released: with and without it, each of "
            f"{equal_pairs} seeds released the same"
        )
    return ""


def untested(settled: str, seen: Observations) -> str:
    """The reason why a run had nothing to find, if there is one.

    It was `settled` before the first trial, or all trials of both worlds released the same.
    """
    shown = [a for name, a in seen.items() if name != "accuracy" and not name.startswith(TEST)]
    if settled or not all(_constant(a) for a in shown):
        return settled
    return "the canary changed nothing that was released: all trials of both worlds are equal"


def _same_records(pair: Pair) -> bool:
    """Compare the records of both worlds, in any order."""
    return len(pair.out) == len(pair.inn) and _counted(pair.out) == _counted(pair.inn)


def _counted(records: Records) -> Counter[tuple[bytes, int]]:
    return Counter((x.tobytes(), int(y)) for x, y in zip(records.x, records.y, strict=True))


def _constant(released: Array) -> bool:
    return np.array_equal(released, np.broadcast_to(released[:1], released.shape), equal_nan=True)


def release_warnings(seen: Observations) -> list[str]:
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
