"""Canaries that are gradients: both worlds have the same records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpaudit.types import Canary, Data, Known, Pair, neighbours


def with_gradients(data: Data, name: str, made: str, given: Known) -> Pair:
    """The whole pool in both worlds, and the gradients that only one of them has."""
    nothing = np.zeros(data.shape, np.float32)
    nobody = Canary(nothing, 0, name, made, kind="gradient")
    return replace(neighbours(data, nobody), given=given)
