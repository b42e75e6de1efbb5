"""Which record of the pool a canary is made of, where chance decides."""

from __future__ import annotations

from dpaudit.seeds import generator
from dpaudit.types import Data

TURNS = ("random", "adv-random", "mislabelled", "none", "static")


def draw(data: Data, seed: int, kind: str) -> int:
    """A random record; the kinds take turns in one random order, so that none shares another's.

    The paper's noisy random image is not its plain random image with noise.
    """
    order = generator(seed, "canary").permutation(len(data.pool))
    return int(order[TURNS.index(kind)])
