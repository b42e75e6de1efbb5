"""What a configuration claims, and how long its models take, before a run is begun."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

from dpaudit import accounting
from dpaudit.audit.preparation import Say, load_records, prepare, quiet
from dpaudit.config import Config
from dpaudit.errors import BadInput
from dpaudit.executors import Stored, cores, local_pool
from dpaudit.judging.choice import Choice
from dpaudit.judging.plan import Pace
from dpaudit.protocols import has_fixed_score
from dpaudit.seeds import ALONE, trials
from dpaudit.types import Canary, Claim, Trial, neighbours

AT_LEAST, AT_MOST, LONGEST = 2, 16, 4.0
"""Models that a probe trains, and the seconds after which it begins no other."""


def claim(config: Config, download: bool = False) -> Claim:
    """What the configured mechanism claims; of DP-SGD without what trains it.

    That spares the seconds that torch and the least noise for an epsilon take: curves are told
    apart by the sampling rate and the steps alone.
    """
    if config.target.claim is not None:
        return Claim(*config.target.claim)
    if ":" in config.target.mechanism:
        raise BadInput(
            f"state what {config.target.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5",
            "needs-claim",
            option="claim",
            value=config.target.mechanism,
        )
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
    """Whether a run has nothing to choose: one attack, whose score is fixed beforehand."""
    attacks = Choice.configured(config.flat()).attack_plugins
    return len(attacks) == 1 and all(map(has_fixed_score, attacks.values()))


def probe(
    config: Config, workers: int | None = None, say: Say = quiet, download: bool = False
) -> Pace:
    """Train a few of the run's own models here, and say how long one takes.

    In as many processes as the run will have: processes that work side by side are slower than
    one alone. What each of them loads and compiles first is not counted. The canary is any
    record: what a model costs does not depend on it.
    """
    prepared = prepare(config, say, download)
    record, workers = prepared.data.pool, workers or cores()
    canary = Canary(record.x[0], int(record.y[0]), "any", "", removed=0)
    pair = neighbours(prepared.data, canary)
    pair = replace(pair, given=prepared.mechanism.craft(prepared.data, config.seed))
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
    return Pace(seconds, done, workers, prepared.mechanism.backend.name)


def _play(game: Stored, trial: Trial) -> None:
    mechanism, pair = game.get()
    with ALONE:
        mechanism.run(pair, [trial])
