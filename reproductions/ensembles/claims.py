"""What the paper claims of aggregated learners, and from which epsilon on it holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

HARM = 0.03
"""So much less accuracy, of an aggregate than alone, counts as none."""


def claims(found: Sequence[dict[str, Any]]) -> list[str]:
    """C1 to C3, each with the numbers that hold it or do not."""
    by = {one["name"].partition(":")[0]: one for one in found}
    told = []
    if "Fig. 3" in by:
        told += [_grows(by["Fig. 3"]), _better(by["Fig. 3"])]
    if "Fig. 5" in by:
        told.append(_better(by["Fig. 5"]))
    if "Fig. 4" in by:
        told.append(_harmless(by["Fig. 4"]))
    return told


def _grows(one: dict[str, Any]) -> str:
    means = [mean for mean, _ in one["aggregated"]]
    errors = np.hypot(one["aggregated_error"][:-1], one["aggregated_error"][1:])
    grown = np.diff(means) > -2 * errors / np.sqrt(one["runs"])
    shown = ", ".join(f"{mean:.3f}" for mean in means)
    return f"C1, aggregates are the better the larger epsilon is: {_held(grown)} ({shown})"


def _better(one: dict[str, Any]) -> str:
    where = one["name"].partition(": ")[2]
    return f"C2, aggregates beat learning alone on {where}: {_from(one, 0.0)}"


def _harmless(one: dict[str, Any]) -> str:
    return (
        f"C3, aggregates do no harm on breast cancer, up to {HARM:g} of accuracy: "
        f"{_from(one, HARM)}"
    )


def _from(one: dict[str, Any], less: float) -> str:
    """From which epsilon on aggregates are above what is learned alone, less so much.

    By two deviations of the difference of their means at least, so that it is not chance.
    """
    local, means = one["local"][0], [mean for mean, _ in one["aggregated"]]
    chance = 2 * np.hypot(one["aggregated_error"], one["local_error"]) / np.sqrt(one["runs"])
    first = len(means)
    while first and means[first - 1] > local - less + chance[first - 1]:
        first -= 1
    if first == len(means):
        return f"NOT HELD ({means[-1]:.3f} at epsilon {one['epsilons'][-1]:g}, {local:.3f} alone)"
    return f"from epsilon {one['epsilons'][first]:g} on ({means[first]:.3f}, {local:.3f} alone)"


def _held(parts: Any) -> str:
    return "held" if np.all(parts) else "NOT HELD"
