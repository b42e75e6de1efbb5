"""What a configuration claims, and how long its models take, before a run is begun."""

from __future__ import annotations

import time

from dpaudit import accounting, audit
from dpaudit.audit import Say, quiet
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.executors import cores
from dpaudit.plan import Pace
from dpaudit.seeds import ALONE, trials
from dpaudit.training.recipe import Recipe
from dpaudit.types import Canary, Claim, neighbours

AT_LEAST, AT_MOST, LONGEST = 2, 16, 4.0
"""Models that a probe trains, and the seconds after which it begins no other."""


def claim(config: Config, download: bool = False) -> Claim:
    """What the configured mechanism claims; of DP-SGD without what trains it.

    That spares the seconds that torch and the least noise for an epsilon take: curves are told
    apart by the sampling rate and the steps alone.
    """
    config.check()
    if config.claim is not None:
        return Claim(*config.claim)
    if ":" in config.mechanism:
        raise BadInput(f"state what {config.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5")
    if config.mechanism != "dpsgd":
        return audit.prepare(config, download=download).claim
    loaded = audit.records(config, download)
    recipe = Recipe(
        network=config.network,
        shape=loaded.shape,
        classes=loaded.classes,
        epochs=config.epochs,
        batch=None if config.batch == "full" else int(config.batch),
        lr=config.lr,
        clip=config.clip,
        noise_multiplier=config.noise_multiplier or 1.0,
        dropout=config.dropout,
    )
    records = len(loaded.pool)
    rate, steps = recipe.sample_rate(records), recipe.steps(records)
    curve = accounting.curve(recipe.noise_multiplier, rate, steps)
    epsilon = config.epsilon
    if epsilon is None:
        epsilon = accounting.epsilon(curve, config.delta, config.accountant)
    return Claim(epsilon, config.delta, curve=curve, source=f"{config.accountant} accountant")


def probe(
    config: Config, workers: int | None = None, say: Say = quiet, download: bool = False
) -> Pace:
    """Train a few of the run's own models here, and say how long one took.

    The first one, which loads and compiles, is not counted. The canary is any record: what a
    model costs does not depend on it.
    """
    prepared = audit.prepare(config, say, download)
    record = prepared.data.pool
    canary = Canary(record.x[0], int(record.y[0]), "any", "", removed=0)
    pair = neighbours(prepared.data, canary)
    first, *others = trials(config.seed, 2 * AT_MOST)
    say("training a few models")
    with ALONE:
        prepared.mechanism.play(pair, [first])
        done, started = 0, time.perf_counter()
        for trial in others[:AT_MOST]:
            prepared.mechanism.play(pair, [trial])
            done += 1
            if done >= AT_LEAST and time.perf_counter() - started > LONGEST:
                break
        seconds = (time.perf_counter() - started) / done
    backend = str(getattr(prepared.mechanism, "backend", ""))
    return Pace(seconds, done, workers or cores(), backend)
