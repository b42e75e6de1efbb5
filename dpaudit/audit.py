"""An audit from its parts: play the game into a folder, judge what lies there."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import defences, game, planting, sequential, settled
from dpaudit.choice import Choice
from dpaudit.cluster import cluster
from dpaudit.config import Config, digest
from dpaudit.errors import BadInput
from dpaudit.evidence import LOOK
from dpaudit.executors import Here, cores, local_pool
from dpaudit.files import probe_folder, write_whole
from dpaudit.fingerprints import fingerprint
from dpaudit.game import Progress
from dpaudit.journal import Journal
from dpaudit.mechanisms.function import Function
from dpaudit.prepared import Prepared, Say, neighbouring, prepare, quiet, records
from dpaudit.protocols import Mechanism
from dpaudit.runs import CONFIG, Run
from dpaudit.seeds import only_trial, trials
from dpaudit.types import Canary, Pair, Records, neighbours

__all__ = ["Prepared", "Run", "play", "prepare", "records", "run"]


def play(
    mechanism: Mechanism,
    pair: Pair,
    models: int = Config.models,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    workers: int | Executor | None = None,
    progress: Progress = quiet,
    until_decided: bool = False,
    budget: float | None = None,
    durable: bool = True,
    **choice: Any,
) -> Run:
    """Play a mechanism on a pair; the same call on the same folder goes on where it stopped.

    `workers` is a number of processes or any executor, such as `executors.Here`, which is this
    process. Others are started afresh, so a script calls this under ``if __name__ ==
    "__main__":``.

    Until decided, it stops as soon as the claim is refuted or `budget`, in seconds, is spent.
    `attacks`, `defence` and `confidence` must then be chosen here, before the first trial; else
    they are chosen where the run is judged. A run that is judged at once and thrown away need not
    be `durable`: no trial then waits for the disk.
    """
    # What suits a mechanism is its own to say, and fixed before the first trial like all else.
    own = {n: v for n, v in getattr(mechanism, "sets", {}).items() if n == "attacks"}
    chosen = Choice(**{**own, **choice})
    models = (
        Config(
            models=models,
            until_decided=until_decided,
            primary=chosen.primary,
            estimator=chosen.estimator,
            raw_scores=chosen.raw_scores,
        )
        .check()
        .models
    )
    if not until_decided and (choice or budget is not None):
        raise BadInput(
            "a budget, and a choice of how to judge, are for until_decided=True; choose in judge()",
            "no-effect",
            option=next(iter(choice), "budget"),
        )
    if getattr(mechanism, "canaries", 1) > 1 or getattr(mechanism, "models", None):
        raise BadInput(
            "play trains many models; one training with many canaries, or two whose steps are "
            "trials, take a configuration: dpaudit.audit.prepare(Config(...)), or dpaudit run",
            "needs-config",
            option="mechanism",
            value=type(mechanism).__name__,
        )
    game.refuse_other_adjacency(mechanism, pair)
    pair = planting.foreseen(mechanism, pair)
    if not isinstance(workers, Here):
        _refuse_unsendable(mechanism, pair)
    canary = pair.canary
    planted = Records(canary.x, np.array(canary.y))
    settings = {
        "mechanism": repr(mechanism),
        "pair": fingerprint(
            f"canary {canary.y}", pair.out, pair.inn, pair.test, planted, **pair.given
        ),
        "models": models,
        "seed": seed,
        **{name: list(value) for name, value in own.items()},
    }
    ends = _ends(budget)
    if until_decided:
        attacks, claim = chosen.make_attacks(), mechanism.claim
        sequential.refuse_hopeless(attacks, claim, chosen.confidence, models)
        defences.make(chosen.defence)
        settings |= {**vars(chosen), "attacks": list(chosen.attacks), "until_decided": True}
    run = Run(out or f"runs/{digest(settings)}")
    run.refuse_foreign()
    with _executor(workers) as pool, ExitStack() as entered:
        compared = cache(lambda: _equal_pairs(mechanism, pair, pool))
        if isinstance(mechanism, Function) and not run.journal.exists():
            mechanism.rehearse(pair, pool)
            compared()
        journal = entered.enter_context(Journal.play(run.journal, settings, durable))
        if journal.facts is None:
            settled.settle(journal, mechanism, mechanism.claim, pair, compared())
        watch = sequential.Watch(journal, chosen, ends) if until_decided else None
        if watch and watch.decided():
            return run
        settled.refuse_other_versions(journal)
        game.play(
            *(mechanism, pair, trials(seed, models), journal, pool, progress),
            check=chosen.refuse_blind if until_decided else quiet,
            **_looks(mechanism, workers, watch),
        )
    return run


def run(
    prepared: Prepared,
    out: Path | None = None,
    workers: int | Executor | None = None,
    progress: Progress = quiet,
    say: Say = quiet,
    address: str | None = None,
    budget: float | None = None,
    tell: sequential.Tell = quiet,
) -> Run:
    """Play a configuration to its end; the same one on the same folder goes on.

    In `workers` processes here, or on the Dask cluster at an address. One that is played until
    decided ends as soon as its claim is refuted or its budget, in seconds, is spent; `tell` is
    told how the evidence grows.
    """
    ends = _ends(budget)
    config, loaded, mechanism = prepared.config, prepared.data, prepared.mechanism
    run = Run(out or prepared.folder)
    run.refuse_foreign(config.to_toml())
    wanted = [only_trial(config.seed)] if config.one_run else trials(config.seed, config.models)
    # Only other machines need to be sent files.
    files = getattr(mechanism, "files", ()) if address is not None else ()
    executor = partial(_executor, workers, address, files)
    with ExitStack() as entered:
        pool = cache(lambda: entered.enter_context(executor()))  # only where it is needed
        made = cache(lambda: neighbouring(prepared, pool(), say))
        compared = cache(lambda: _equal_pairs(mechanism, made(), pool()))
        if not run.journal.exists():
            # Everything that can be wrong is found out before anything is written.
            probe_folder(run.path)
            if isinstance(mechanism, Function):
                say(f"rehearsing {config.mechanism}")
                record = Canary(loaded.pool.x[0], int(loaded.pool.y[0]), "any", "", inserted=False)
                mechanism.rehearse(neighbours(loaded, record), pool())
            compared()
        journal = entered.enter_context(Journal.play(run.journal, config.to_dict()))
        write_whole(run.path / CONFIG, config.to_toml().encode())
        canary = settled.canary(journal)
        choice = Choice.configured(vars(config))
        watch = sequential.Watch(journal, choice, ends, tell) if config.until_decided else None
        if canary:
            if not journal.missing(wanted) or (watch and watch.decided()):
                return run
            settled.refuse_other_versions(journal)
            pair = replace(neighbours(loaded, canary), given=settled.given(journal))
        else:
            pair = made()
            settled.settle(journal, mechanism, prepared.claim, pair, compared())
        game.play(
            *(mechanism, pair, wanted, journal, pool(), progress, choice.refuse_blind),
            **_looks(mechanism, workers, watch),
        )
    return run


def _equal_pairs(mechanism: Mechanism, pair: Pair, pool: Executor) -> int:
    """The number of seeds that release the same with and without the canary, if all do."""
    return mechanism.equal_pairs(pair, pool) if isinstance(mechanism, Function) else 0


def _refuse_unsendable(mechanism: Mechanism, pair: Pair) -> None:
    """Refuse what cannot be sent to worker processes before any is started."""
    try:
        pickle.dumps((mechanism, pair))
    except Exception as error:
        raise BadInput(
            f"the mechanism cannot be sent to worker processes: {error}",
            "not-picklable",
            option="mechanism",
        ) from error


def _looks(
    mechanism: Mechanism, workers: int | Executor | None, watch: sequential.Watch | None
) -> dict[str, Any]:
    """When a game is looked at, and who says that it is enough; without a watch, never."""
    if watch is None:
        return {}
    every = _between_looks(mechanism, workers)
    return {"every": every, "enough": watch.decided, "late": watch.late}


def _ends(budget: float | None) -> float | None:
    """When so many seconds from now are spent, by the monotonic clock."""
    return None if budget is None else time.monotonic() + budget


def _between_looks(mechanism: Mechanism, workers: int | Executor | None) -> int:
    """How many trials are played between looks: whole pairs, and work for all workers."""
    if isinstance(workers, Here):
        workers = 1
    known = cores() if workers is None or isinstance(workers, Executor) else workers
    together = known * int(getattr(mechanism, "at_once", 1))
    return 2 * together * max(1, -(-LOOK // (2 * together)))


@contextmanager
def _executor(
    workers: int | Executor | None, address: str | None = None, files: Sequence[Path] = ()
) -> Iterator[Executor]:
    """Where trials are played: a given executor, a cluster, or processes on this machine."""
    if isinstance(workers, Executor):
        yield workers
        return
    pool = local_pool(workers or cores()) if address is None else cluster(address, files)
    with pool as executor:
        yield executor
