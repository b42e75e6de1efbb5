"""The pair of neighbouring data sets that a canary makes, found to be what was asked for."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

from dpaudit import game, registry
from dpaudit.config import Config
from dpaudit.errors import blamed
from dpaudit.mechanisms.function import Function
from dpaudit.protocols import CanaryBuilder, Mechanism
from dpaudit.types import Data, Known, Pair


def builder(
    config: Config, mechanism: Mechanism, pool: Executor | None, given: Known
) -> CanaryBuilder:
    """What makes the configured canary, `given` what the adversary has crafted."""
    made: CanaryBuilder = registry.make(
        "canaries",
        config.canary,
        recipe=getattr(mechanism, "recipe", None),
        # A user's function is promised pixels in [0, 1].
        clip=config.clip_canary or isinstance(mechanism, Function),
        executor=pool,
        canaries=config.canaries,
        adjacency=mechanism.claim.adjacency,
        told_apart=getattr(mechanism, "told_apart", None),
        **given,
    )
    return made


def pair(made_by: CanaryBuilder, name: str, data: Data, mechanism: Mechanism, seed: int) -> Pair:
    """What a builder makes of the data; what a mechanism could not be played on is refused."""
    with blamed(f"the canary {name}"):
        made = made_by.build(data, seed)
        if not isinstance(made, Pair):
            raise TypeError(f"it gave back {type(made).__name__}, not a Pair")
        if made.canary.x.shape != data.shape:
            raise ValueError(f"its record has the shape {made.canary.x.shape}")
    game.refuse_other_adjacency(mechanism, made)
    if hasattr(mechanism, "refuse"):
        mechanism.refuse(made)
    return made


def foreseen(mechanism: Mechanism, pair: Pair) -> Pair:
    """The pair with what an adversary who has it knows of the mechanism, where that says so.

    Found out once: it is kept with the run, and sent to all who play.
    """
    if not hasattr(mechanism, "foresee"):
        return pair
    return replace(pair, given={**pair.given, **mechanism.foresee(pair)})
