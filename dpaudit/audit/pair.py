"""The pair of neighbouring data sets that a canary makes, found to be what was asked for."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

from dpaudit import registry
from dpaudit.audit import trials
from dpaudit.config.settings import Planting
from dpaudit.errors import blamed
from dpaudit.protocols import CanaryBuilder, Mechanism
from dpaudit.types import Data, Known, Pair

OFFERED = frozenset({"clip", "executor", "canaries", "adjacency"})
"""What any canary may ask for."""


def make_builder(
    planting: Planting, mechanism: Mechanism, pool: Executor, given: Known
) -> CanaryBuilder:
    """What makes the configured canary, `given` what the adversary has crafted."""
    made: CanaryBuilder = registry.make(
        "canaries",
        planting.canary,
        recipe=mechanism.recipe,
        clip=planting.clip_canary or mechanism.bounded_canary,
        executor=pool,
        canaries=mechanism.canaries,
        adjacency=mechanism.claim.adjacency,
        **given,
    )
    return made


def make_pair(
    made_by: CanaryBuilder, name: str, data: Data, mechanism: Mechanism, seed: int
) -> Pair:
    """What a builder makes of the data; what a mechanism could not be played on is refused."""
    with blamed(f"the canary {name}"):
        made = made_by.build(data, seed)
        if not isinstance(made, Pair):
            raise TypeError(f"it gave back {type(made).__name__}, not a Pair")
        if made.canary.x.shape != data.shape:
            raise ValueError(f"its record has the shape {made.canary.x.shape}")
    trials.refuse_other_adjacency(mechanism, made)
    mechanism.refuse(made)
    return made


def with_known(mechanism: Mechanism, pair: Pair) -> Pair:
    """Return the pair with what the adversary knows of it; kept with the run, sent to workers."""
    return replace(pair, given={**pair.given, **mechanism.known(pair)})
