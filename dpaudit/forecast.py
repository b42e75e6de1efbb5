"""What a configuration claims, and how long its models take, before a run is begun."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from dpaudit import accounting, audit
from dpaudit.choice import Choice
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.executors import Stored, cores, local_pool
from dpaudit.plan import Pace
from dpaudit.prepared import Say, quiet
from dpaudit.protocols import scoring
from dpaudit.seeds import ALONE, trials
from dpaudit.training.recipe import Recipe
from dpaudit.types import Canary, Claim, Trial, neighbours

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
        raise BadInput(
            f"state what {config.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5",
            "needs-claim",
            option="claim",
            value=config.mechanism,
        )
    if config.mechanism != "dpsgd":
        return audit.prepare(config, download=download).claim
    loaded = audit.records(config, download)
    recipe = Recipe(
        network=config.network,
        shape=loaded.shape,
        classes=loaded.classes,
        epochs=config.epochs,
        total_steps=config.steps,
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


def fixed_score(config: Config) -> bool:
    """Whether a run has nothing to choose: one attack, whose score is fixed beforehand."""
    attacks = Choice.configured(vars(config)).make_attacks()
    return len(attacks) == 1 and all(scoring(attack) == "fixed" for attack in attacks.values())


def probe(
    config: Config, workers: int | None = None, say: Say = quiet, download: bool = False
) -> Pace:
    """Train a few of the run's own models here, and say how long one takes.

    In as many processes as the run will have: processes that work side by side are slower than
    one alone. What each of them loads and compiles first is not counted. The canary is any
    record: what a model costs does not depend on it.
    """
    prepared = audit.prepare(config, say, download)
    record, workers = prepared.data.pool, workers or cores()
    canary = Canary(record.x[0], int(record.y[0]), "any", "", removed=0)
    pair = neighbours(prepared.data, canary)
    if hasattr(prepared.mechanism, "craft"):
        crafted = prepared.mechanism.craft(prepared.data, config.seed)
        pair = replace(pair, given=crafted)
    say("training a few models")
    with local_pool(workers) as pool:
        play = partial(_play, pool.share((prepared.mechanism, pair)))  # type: ignore[attr-defined]
        waiting = trials(config.seed, 2 * workers * (AT_MOST + 1))
        next_ones = iter([waiting[i : i + workers] for i in range(0, len(waiting), workers)])
        list(pool.map(play, next(next_ones)))
        done, started = 0, time.perf_counter()
        while done < AT_MOST and (done < AT_LEAST or time.perf_counter() - started < LONGEST):
            done += len(list(pool.map(play, next(next_ones))))
        seconds = workers * (time.perf_counter() - started) / done
    return Pace(seconds, done, workers, str(getattr(prepared.mechanism, "backend", "")))


def _play(game: Stored, trial: Trial) -> None:
    mechanism, pair = game.get()
    with ALONE:
        mechanism.play(pair, [trial])
