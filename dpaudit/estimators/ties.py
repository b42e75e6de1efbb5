"""Ties between the worlds: a rule that needs no luck.

A coin that breaks ties makes a test valid on average over coins. It says nothing about the coins of
one seed: if they happen to favour one world, they do so in every audit with that seed. So a
test of tied trials rejects only where at least `SURE` of all tosses reject at `SURE` times the
level a. A toss rejects with probability at most SURE a on average, so by Markov's inequality
this happens with probability at most a. Constant scores are then never evidence.

A score that is tied in some audits and not in others could, in the worst case that theory leaves
open, err with probability (2 - SURE) a; the simulations in `make verify` show no such case.
"""

from __future__ import annotations

import numpy as np

from dpaudit.types import Array

SURE = 0.9
"""The share of tosses that must reject."""

TOSSES = 1000
"""Tosses, where their distribution is simulated."""


def level(a: float, tied: bool) -> float:
    """Return the level at which each toss is tested."""
    return SURE * a if tied else a


def reached(tosses: Array) -> int:
    """Return the largest number that at least `SURE` of the tosses reach."""
    return int(np.sort(tosses)[int(len(tosses) * (1 - SURE) + 1e-9)])
