"""Run the trials of an audit into a folder, from its parts or from a configuration."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.audit.folder import CONFIG, Run
from dpaudit.audit.preparation import PreparedAudit, Say, planted_pair, quiet, with_known
from dpaudit.audit.trials import Progress, refuse_other_adjacency, run_trials
from dpaudit.checks import refuse
from dpaudit.config import conflicts_until_decided, digest
from dpaudit.config.settings import Volume
from dpaudit.data.arrays import hash_arrays
from dpaudit.errors import BadInput
from dpaudit.estimators.bets import LOOK
from dpaudit.executors import SerialExecutor, cores, local_pool
from dpaudit.executors.cluster import cluster
from dpaudit.files import probe_folder, write_whole
from dpaudit.journal import Journal
from dpaudit.judging import facts
from dpaudit.judging.choice import Choice
from dpaudit.judging.until_decided import ShowWealth, StoppingRule, refuse_undecidable
from dpaudit.protocols import Mechanism
from dpaudit.seeds import only_trial, trials
from dpaudit.types import Canary, Claim, Known, Pair, Records, Trial


def play(
    mechanism: Mechanism,
    pair: Pair,
    models: int = Volume.models,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    workers: int | Executor | None = None,
    progress: Progress = quiet,
    until_decided: bool = False,
    budget: float | None = None,
    durable: bool = True,
    **choice: Any,
) -> Run:
    """Audit a mechanism on a pair; the same call on the same folder resumes the run.

    `workers` is a number of processes or any executor, such as `executors.SerialExecutor`,
    which is this process. A script that starts processes calls this under ``if __name__ ==
    "__main__":``.

    Until decided, it stops as soon as the claim is refuted or `budget`, in seconds, is spent;
    `attacks`, `defence` and `confidence` are then chosen here, before the first trial, else where
    the run is judged. If it is not `durable`, no trial waits for the disk.
    """
    # A mechanism's own attacks are fixed before the first trial, like all else.
    own = {n: v for n, v in mechanism.default_settings.items() if n == "attacks"}
    chosen = Choice(**{**own, **choice})
    models = Volume(models, until_decided, seed).models
    if until_decided:
        refuse(conflicts_until_decided(chosen))
    elif choice or budget is not None:
        raise BadInput(
            "budget and judging options need until_decided=True; otherwise give them to judge()",
            "no-effect",
            option=next(iter(choice), "budget"),
        )
    if mechanism.canaries > 1 or mechanism.models is not None:
        text = (
            "play trains many models; one training with many canaries, or an audit of steps, needs "
            "a configuration: dpaudit.audit.prepare(Config.of(...)), or dpaudit run"
        )
        raise BadInput(text, "needs-config", option="mechanism", value=type(mechanism).__name__)
    refuse_other_adjacency(mechanism, pair)
    mechanism = mechanism.build_backend()
    pair = with_known(mechanism, pair)
    if not isinstance(workers, SerialExecutor):
        _refuse_unsendable(mechanism, pair)
    canary = pair.canary
    planted = Records(canary.x, np.array(canary.y))
    settings = {
        "mechanism": repr(mechanism),
        "pair": hash_arrays(
            f"canary {canary.y}", pair.out, pair.inn, pair.test, planted, **pair.given
        ),
        "models": models,
        "seed": seed,
        **{name: list(value) for name, value in own.items()},
    }
    if until_decided:
        refuse_undecidable(chosen.attack_plugins, mechanism.claim, chosen.confidence, models)
        _ = chosen.defence_plugin
        settings |= {**chosen.flat(), "attacks": list(chosen.attacks), "until_decided": True}
    audit = Audit(
        *(mechanism, mechanism.claim, trials(seed, models), settings),
        PairSource(lambda: pair, lambda pool: pair, lambda canary, given: pair),
        chosen if until_decided else None,
    )
    folder = Run(out or f"runs/{digest(settings)}")
    return audit.run(folder, workers, progress, budget, durable=durable)


def run(
    prepared: PreparedAudit,
    out: Path | None = None,
    workers: int | Executor | None = None,
    progress: Progress = quiet,
    say: Say = quiet,
    address: str | None = None,
    budget: float | None = None,
    tell: ShowWealth = quiet,
) -> Run:
    """Run a prepared audit to its end; the same one on the same folder resumes it.

    It runs in `workers` processes here, or on the Dask cluster at an address. An audit until
    decided ends as soon as its claim is refuted or its budget, in seconds, is spent; `tell` shows
    how the evidence grows.
    """
    config = prepared.config
    one_run = config.attacker.one_run
    audit = Audit(
        prepared.mechanism,
        prepared.claim,
        [only_trial(config.seed)] if one_run else trials(config.seed, config.volume.models),
        config.to_dict(),
        PairSource(
            lambda: prepared.any_pair(say),
            lambda pool: planted_pair(prepared, pool, say),
            prepared.restored_pair,
        ),
        prepared.choice,
        config.to_toml(),
    )
    return audit.run(Run(out or prepared.folder), workers, progress, budget, tell, address)


@dataclass(frozen=True)
class PairSource:
    """The ways to a pair: for a rehearsal, for a new run, and for one that was begun."""

    any: Callable[[], Pair]
    make: Callable[[Executor], Pair]
    restore: Callable[[Canary, Known], Pair]


@dataclass(frozen=True)
class Audit:
    """The trials of one audit, with all that they depend on."""

    mechanism: Mechanism
    claim: Claim
    trials: Sequence[Trial]
    settings: Mapping[str, Any]
    pair: PairSource
    choice: Choice | None
    """The choice of how to judge, if it is fixed before the first trial."""
    config: str = ""
    """The text of the run's configuration file; empty if it has none."""

    def run(
        self,
        folder: Run,
        workers: int | Executor | None,
        progress: Progress,
        budget: float | None,
        tell: ShowWealth = quiet,
        address: str | None = None,
        durable: bool = True,
    ) -> Run:
        """Run all trials that a folder does not have yet."""
        mechanism, total = self.mechanism, len(self.trials)
        ends = None if budget is None else time.monotonic() + budget
        folder.refuse_foreign(self.config)
        with ExitStack() as entered:
            pool = cache(lambda: entered.enter_context(_executor(workers, address, mechanism)))
            made = cache(lambda: self.pair.make(pool()))
            compared = cache(lambda: mechanism.equal_pairs(made(), pool()))
            new = cache(lambda: facts.collect(mechanism, self.claim, made(), compared()))
            if not folder.journal.exists():
                # Everything that can be wrong is found out before anything is written.
                probe_folder(folder.path)
                if type(mechanism).rehearse is not Mechanism.rehearse:
                    mechanism.rehearse(self.pair.any(), pool())
                new()
            journal = entered.enter_context(
                Journal.open_for_writing(folder.journal, self.settings, durable)
            )
            if self.config:
                write_whole(folder.path / CONFIG, self.config.encode())
            stop, looks = None, dict[str, Any]()
            if self.choice and self.settings.get("until_decided"):
                stop = StoppingRule(journal, self.choice, ends, tell)
                every = _between_looks(mechanism, workers)
                looks = {"every": every, "enough": stop.decided, "late": stop.late}
            if canary := facts.stored_canary(journal):
                if not (missing := journal.missing(self.trials)) or (stop and stop.decided()):
                    progress(total - len(missing), total)
                    return folder
                facts.refuse_other_versions(journal)
                pair = self.pair.restore(canary, facts.stored_choices(journal))
            else:
                pair = made()
                stored, known = new()
                journal.write_facts(stored.to_dict(), known)
            check = self.choice.refuse_blind if self.choice else quiet
            run_trials(mechanism, pair, self.trials, journal, pool(), progress, check, **looks)
        return folder


@contextmanager
def _executor(
    workers: int | Executor | None, address: str | None, mechanism: Mechanism
) -> Iterator[Executor]:
    """Enter the given executor, a cluster, or a pool of processes on this machine."""
    if isinstance(workers, Executor):
        yield workers
        return
    if address is None:
        pool = local_pool(workers or cores())
    else:
        pool = cluster(address, mechanism.files())
    with pool as executor:
        yield executor


def _between_looks(mechanism: Mechanism, workers: int | Executor | None) -> int:
    """Return the trials between two looks: whole pairs, and work for all workers."""
    workers = 1 if isinstance(workers, SerialExecutor) else workers
    known = cores() if workers is None or isinstance(workers, Executor) else workers
    together = known * mechanism.trials_per_call
    return 2 * together * max(1, -(-LOOK // (2 * together)))


def _refuse_unsendable(mechanism: Mechanism, pair: Pair) -> None:
    """Refuse what cannot be sent to worker processes, before any is started."""
    try:
        pickle.dumps((mechanism, pair))
    except Exception as error:
        text = f"the mechanism cannot be sent to worker processes: {error}"
        raise BadInput(text, "not-picklable", option="mechanism") from error
