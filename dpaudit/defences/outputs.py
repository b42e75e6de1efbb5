"""What a classifier releases, as its defences see it: predictions, and the passes below them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.outputs import CHUNK, softmax, summarised
from dpaudit.types import OWN, Array, Observations

PREDICTIONS = ("mean", "probabilities")
"""Probabilities (rows, classes): of a Bayesian network, and of a plain one."""


def need(who: object, seen: Observations, *names: str) -> None:
    """Refuse to defend what is not there: nothing would be released at all."""
    if missing := [name for name in names if name not in seen]:
        there = ", ".join(sorted(seen.keys() - {OWN})) or "nothing"
        raise BadInput(
            f"the defence {who} needs {' and '.join(missing)}, "
            f"and what there is to defend is {there}",
            "missing-observations",
            value=tuple(missing),
        )


def predictions(who: object, seen: Observations) -> dict[str, Array]:
    """All predictions in double precision; refused where there are none."""
    found = {name: p for name, p in numbers(seen).items() if name in PREDICTIONS}
    if not found:
        need(who, seen, "probabilities")
    return found


def numbers(seen: Observations) -> dict[str, Array]:
    """All that is released but the single passes; the probabilities of logits that stand alone."""
    names = (*PREDICTIONS, "std", "values")
    found = {n: np.asarray(seen[n], dtype=np.float64) for n in names if n in seen}
    if "logits" in seen and "probabilities" not in seen:
        found["probabilities"] = softmax(np.asarray(seen["logits"], dtype=np.float64))
    return found


def with_logits(kept: Observations, seen: Observations) -> Observations:
    """What is kept, and the logarithms of its probabilities where logits were released."""
    if "logits" not in seen or "probabilities" not in kept:
        return kept
    with np.errstate(divide="ignore", invalid="ignore"):
        return {**kept, "logits": np.log(kept["probabilities"])}


def each_pass(
    who: object, seen: Observations, change: Callable[[Array], Array]
) -> dict[str, Array]:
    """All predictions changed; of MC dropout every pass, with mean and deviation anew.

    Where only the mean is released the mean is changed, and the deviation is not released any
    more: it is that of other passes, and the new one cannot be known.
    """
    kept = {name: change(p) for name, p in predictions(who, seen).items()}
    if "mc" not in seen:
        return kept
    mc = np.asarray(seen["mc"])
    passes = np.empty(mc.shape, np.float32)
    rows = max(1, CHUNK // max(1, mc[:1].size))
    for i in range(0, len(mc), rows):
        passes[i : i + rows] = change(mc[i : i + rows].astype(np.float64))
    return {**kept, **summarised({"mc": passes})}
