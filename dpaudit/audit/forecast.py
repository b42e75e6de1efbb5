"""Forecast a run: the claim of its configuration, and the time of its models."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from dpaudit import accounting
from dpaudit.audit.preparation import Say, load_records, prepare, quiet
from dpaudit.audit.trials import run_batch
from dpaudit.config import Config
from dpaudit.executors import cores, local_pool
from dpaudit.judging.choice import Choice
from dpaudit.judging.plan import Pace
from dpaudit.protocols import has_fixed_score
from dpaudit.seeds import trials
from dpaudit.types import Canary, Claim, neighbours

AT_LEAST, AT_MOST, LONGEST = 2, 16, 4.0
"""Models that a probe trains, and the seconds after which it begins no other."""


def claim(config: Config, download: bool = False) -> Claim:
    """Return the claim of the configured mechanism; that of DP-SGD without importing torch.

    Curves are told apart by the sampling rate and the steps alone, so that the least noise for
    an epsilon, which takes seconds, is not computed either.
    """
    if config.target.claim is not None:
        return Claim(*config.target.claim)
    if config.target.mechanism != "dpsgd":
        return prepare(config, download=download, build=False).claim
    size = len(load_records(config, download).pool)
    training, privacy = config.training, config.privacy
    rate, steps = training.sample_rate(size), training.rounds(size)
    curve = accounting.curve(privacy.noise_multiplier or 1.0, rate, steps)
    epsilon = privacy.epsilon
    if epsilon is None:
        epsilon = accounting.epsilon(curve, privacy.delta, privacy.accountant)
    return Claim(epsilon, privacy.delta, curve=curve, source=f"{privacy.accountant} accountant")


def fixed_score(config: Config) -> bool:
    """Tell whether a run has nothing to choose: one attack, whose score is fixed beforehand."""
    attacks = Choice.of_settings(config.flat()).attack_plugins
    return len(attacks) == 1 and all(map(has_fixed_score, attacks.values()))


def probe(
    config: Config, workers: int | None = None, say: Say = quiet, download: bool = False
) -> Pace:
    """Train a few of the run's own models here, and measure their time.

    As many processes work as in the run, because they slow each other down. The first model of
    each, which loads and compiles code, is not counted. Any record is the canary.
    """
    prepared = prepare(config, say, download)
    record, workers = prepared.data.pool, workers or cores()
    canary = Canary(record.x[0], int(record.y[0]), "any", "", removed=0)
    pair = neighbours(prepared.data, canary)
    pair = replace(pair, given=prepared.mechanism.craft(prepared.data, config.seed))
    say("training a few models")
    with local_pool(workers) as pool:
        run = partial(run_batch, pool.share((prepared.mechanism, pair)))  # type: ignore[attr-defined]
        single = [[trial] for trial in trials(config.seed, 2 * workers * (AT_MOST + 1))]
        parts = iter([single[i : i + workers] for i in range(0, len(single), workers)])
        list(pool.map(run, next(parts)))
        done, started = 0, time.perf_counter()
        while done < AT_MOST and (done < AT_LEAST or time.perf_counter() - started < LONGEST):
            done += len(list(pool.map(run, next(parts))))
        seconds = workers * (time.perf_counter() - started) / done
    return Pace(seconds, done, workers, prepared.mechanism.backend.name)
