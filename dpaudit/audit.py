"""An audit from its parts: play the game into a folder, judge what lies there."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import (
    compare,
    data,
    defences,
    game,
    one_run,
    plan,
    registry,
    report,
    sequential,
    settled,
)
from dpaudit.adversaries import ADVERSARIES, PER_STEP
from dpaudit.choice import ALL, Choice
from dpaudit.cluster import cluster
from dpaudit.compare import Comparison
from dpaudit.config import Config, digest
from dpaudit.errors import BadInput, blamed
from dpaudit.executors import cores, local_pool
from dpaudit.files import probe_folder, write_whole
from dpaudit.fingerprints import fingerprint
from dpaudit.game import Progress
from dpaudit.journal import Journal
from dpaudit.judge import judge
from dpaudit.jury import AUTO
from dpaudit.mechanisms.function import Function
from dpaudit.protocols import CanaryBuilder, Defence, Mechanism
from dpaudit.report import comparison
from dpaudit.seeds import only_trial, trials
from dpaudit.types import Canary, Claim, Data, Known, Pair, Records, Report, neighbours

OWN = "own-function"
"""The name by which `dpaudit explain` tells of a user's own function."""

LOOK = 20
"""Trials, at least, after which a run that is played until decided is looked at."""

Say = Callable[[str], None]
"""Told, in a few words, what a long silence is about to be spent on."""


def quiet(*told: object) -> None:
    """Shows nothing."""


@dataclass(frozen=True)
class Run:
    """A folder with a journal, complete or not."""

    path: Path

    @property
    def journal(self) -> Path:
        """The file that holds every trial."""
        return self.path / "journal.sqlite"

    def judge(self, **choice: Any) -> Report:
        """The verdict on the journal; what is not chosen is as the run was configured."""
        with Journal.read(self.journal) as journal:
            if journal.settings.get("until_decided"):
                return sequential.judge(journal, _choice(journal, choice))
            if journal.settings.get("canaries", 1) > 1:
                return one_run.judge(journal, _choice(journal, choice))
            return judge(journal, _choice(journal, choice))

    def report(self, **choice: Any) -> str:
        """The verdict as text for a terminal."""
        return report.render(self.judge(**choice))

    def compare(self, defences: Sequence[str | Defence], **choice: Any) -> str:
        """Leak and utility without a defence and with each of some, as text for a terminal."""
        return comparison.render(self.compared(defences, **choice))

    def compared(self, defences: Sequence[str | Defence], **choice: Any) -> Comparison:
        """The same as numbers."""
        with Journal.read(self.journal) as journal:
            return compare.compare(journal, defences, _choice(journal, choice))


def _choice(journal: Journal, choice: Mapping[str, Any]) -> Choice:
    given = {name: value for name, value in choice.items() if value not in (None, ())}
    chosen = {**vars(Choice.configured(journal.settings)), **given}
    if "primary" not in given and chosen["primary"] not in (ALL, *chosen["attacks"]):
        chosen["primary"] = "auto"
    return Choice(**chosen)


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
    **choice: Any,
) -> Run:
    """Play a mechanism on a pair; the same call on the same folder goes on where it stopped.

    `workers` is a number of processes or any executor. Processes are started afresh, so a script
    calls this under ``if __name__ == "__main__":``.

    Until decided, it stops as soon as the claim is refuted or `budget`, in seconds, is spent.
    `attacks`, `defence` and `confidence` must then be chosen here, before the first trial; else
    they are chosen where the run is judged.
    """
    chosen = Choice(**choice)
    models = (
        Config(
            models=models,
            until_decided=until_decided,
            primary=chosen.primary,
            estimator=chosen.estimator,
        )
        .check()
        .models
    )
    if not until_decided and (choice or budget is not None):
        raise BadInput(
            "a budget, and a choice of how to judge, are for until_decided=True; choose in judge()"
        )
    if getattr(mechanism, "canaries", 1) > 1 or getattr(mechanism, "models", None):
        raise BadInput(
            "play trains many models; one training with many canaries, or two whose steps are "
            "trials, take a configuration: dpaudit.audit.prepare(Config(...)), or dpaudit run"
        )
    try:
        pickle.dumps((mechanism, pair))
    except Exception as error:
        raise BadInput(f"the mechanism cannot be sent to worker processes: {error}") from error
    canary = pair.canary
    planted = Records(canary.x, np.array(canary.y))
    settings = {
        "mechanism": repr(mechanism),
        "pair": fingerprint(
            f"canary {canary.y}", pair.out, pair.inn, pair.test, planted, **pair.given
        ),
        "models": models,
        "seed": seed,
    }
    ends = _ends(budget)
    if until_decided:
        attacks, claim = chosen.make_attacks(), mechanism.claim
        sequential.refuse_hopeless(attacks, claim, chosen.confidence, models)
        defences.make(chosen.defence)
        settings |= {**vars(chosen), "attacks": list(chosen.attacks), "until_decided": True}
    run = Run(Path(out or f"runs/{digest(settings)}"))
    with _executor(workers) as pool, ExitStack() as entered:
        if isinstance(mechanism, Function) and not run.journal.exists():
            mechanism.rehearse(pair, pool)
        journal = entered.enter_context(Journal.play(run.journal, settings))
        if journal.facts is None:
            settled.settle(journal, mechanism, mechanism.claim, pair)
        watch = sequential.Watch(journal, chosen, ends) if until_decided else None
        if watch and watch.decided():
            return run
        settled.refuse_other_versions(journal)
        game.play(
            *(mechanism, pair, trials(seed, models), journal, pool, progress),
            **_looks(mechanism, workers, watch),
        )
    return run


@dataclass(frozen=True)
class Prepared:
    """A configuration that has been found to work, with its data, mechanism and claim."""

    config: Config
    data: Data
    mechanism: Mechanism
    claim: Claim

    @property
    def folder(self) -> Path:
        """Where the run goes unless said otherwise: the same configuration, the same folder."""
        return Path("runs") / self.config.digest()


def prepare(
    config: Config, say: Say = quiet, download: bool = False, out: Path | None = None
) -> Prepared:
    """Find out everything that is wrong with a configuration before anything is written.

    A run that lies in `out` goes on by the backend that it was begun with.
    """
    config.check()
    if out and config.backend == "auto" and Run(out).journal.exists():
        with Journal.read(Run(out).journal) as journal:
            config = replace(config, backend=journal.settings.get("backend", "auto"))
    choice = Choice.configured(vars(config))
    attacks = choice.make_attacks()
    if config.estimator != AUTO:
        registry.load("estimators", config.estimator)
    defences.make(config.defence)
    if not _is_own(config):
        registry.load("mechanisms", config.mechanism)
    registry.load("canaries", config.canary)
    try:
        config.data.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the path {config.data!a} is not text; rename the file") from error
    loaded = records(config, download)
    found = data.fingerprint(loaded)
    if config.fingerprint not in (None, found):
        raise BadInput(f"{config.data} does not hold the data that this configuration was made for")
    config = replace(config, fingerprint=found)
    say(f"preparing {config.mechanism}")
    mechanism = _mechanism(config, loaded)
    if isinstance(mechanism, Function):
        if config.code not in (None, mechanism.code):
            raise BadInput(
                f"{config.mechanism} is not the code that this configuration was made for"
            )
        config = replace(config, code=mechanism.code)
    _refuse_alone(config, mechanism)
    if models := getattr(mechanism, "models", None):
        config = replace(config, models=models)
    if recipe := getattr(mechanism, "recipe", None):
        # Chosen by now, and part of the run: config.toml plays it again by the same one.
        config = replace(config, backend=recipe.backend)
    _refuse_gradient(config, mechanism)
    claim = _claim(config, mechanism)
    if config.one_run:
        one_run.refuse_choosing(attacks)
        r = config.guesses or plan.most_telling(claim, config.canaries, config.confidence)
        config = replace(config, guesses=r)
    else:
        choice.juries(attacks, claim, config.seed)
    if config.until_decided:
        sequential.refuse_hopeless(attacks, claim, config.confidence, config.models)
    return Prepared(config, loaded, mechanism, claim)


def records(config: Config, download: bool = False) -> Data:
    """The data set that a configuration names."""
    return data.load(
        config.data,
        config.seed,
        size=config.size,
        root=config.data_root,
        download=download,
        label=config.label,
        bounds=config.bounds,
        ignore=config.ignore,
    )


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
    wanted = [only_trial(config.seed)] if config.one_run else trials(config.seed, config.models)
    # Only other machines need to be sent files.
    files = getattr(mechanism, "files", ()) if address is not None else ()
    executor = partial(_executor, workers, address, files)
    with ExitStack() as entered:
        pool = cache(lambda: entered.enter_context(executor()))  # only where it is needed
        pair = None
        if not run.journal.exists():
            # Everything that can be wrong is found out before anything is written.
            probe_folder(run.path)
            if isinstance(mechanism, Function):
                say(f"rehearsing {config.mechanism}")
                record = Canary(loaded.pool.x[0], int(loaded.pool.y[0]), "any", "", inserted=False)
                mechanism.rehearse(neighbours(loaded, record), pool())
            pair = _pair(prepared, pool(), say)
        journal = entered.enter_context(Journal.play(run.journal, config.to_dict()))
        write_whole(run.path / "config.toml", config.to_toml().encode())
        canary = settled.canary(journal)
        choice = Choice.configured(vars(config))
        watch = sequential.Watch(journal, choice, ends, tell) if config.until_decided else None
        if canary:
            if not journal.missing(wanted) or (watch and watch.decided()):
                return run
            settled.refuse_other_versions(journal)
            pair = replace(neighbours(loaded, canary), given=settled.given(journal))
        else:
            pair = pair or _pair(prepared, pool(), say)
            settled.settle(journal, mechanism, prepared.claim, pair)
        game.play(
            *(mechanism, pair, wanted, journal, pool(), progress, choice.refuse_blind),
            **_looks(mechanism, workers, watch),
        )
    return run


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
    known = cores() if workers is None or isinstance(workers, Executor) else workers
    together = known * int(getattr(mechanism, "at_once", 1))
    return 2 * together * max(1, -(-LOOK // (2 * together)))


def _pair(prepared: Prepared, pool: Executor, say: Say) -> Pair:
    """The neighbouring data sets that the configured canary makes."""
    config, mechanism = prepared.config, prepared.mechanism
    say(f"making the canary ({config.canary})")
    given: Known = {}
    if hasattr(mechanism, "craft"):
        given = mechanism.craft(prepared.data, config.seed)
    with blamed(f"the canary {config.canary}"):
        pair = _builder(config, mechanism, pool, given).build(prepared.data, config.seed)
        if not isinstance(pair, Pair):
            raise TypeError(f"it gave back {type(pair).__name__}, not a Pair")
        if pair.canary.x.shape != prepared.data.shape:
            raise ValueError(f"its record has the shape {pair.canary.x.shape}")
    game.refuse_other_adjacency(mechanism, pair)
    return replace(pair, given={**given, **pair.given})


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


def _builder(
    config: Config, mechanism: Mechanism, pool: Executor | None, given: Known
) -> CanaryBuilder:
    builder: CanaryBuilder = registry.make(
        "canaries",
        config.canary,
        recipe=getattr(mechanism, "recipe", None),
        # A user's function is promised pixels in [0, 1].
        clip=config.clip_canary or isinstance(mechanism, Function),
        executor=pool,
        canaries=config.canaries,
        **given,
    )
    return builder


def _refuse_gradient(config: Config, mechanism: Mechanism) -> None:
    """Refuse a canary that is no record, where gradients cannot be put in or are not looked at."""
    crafted = ADVERSARIES[config.adversary].crafts and not isinstance(mechanism, Function)
    asks = ADVERSARIES[config.adversary].asks or isinstance(mechanism, Function)
    gradient = getattr(registry.load("canaries", config.canary), "gradient", False)
    if asks and gradient:
        able = " or ".join(a.name for a in ADVERSARIES.values() if not a.asks)
        raise BadInput(f"{config.canary} is a gradient, not a record; it takes --adversary {able}")
    if config.adversary == PER_STEP.name and not gradient:
        raise BadInput(
            f"per-step puts a gradient into every step, and {config.canary} is none; take --canary "
            "dirac or random-direction"
        )
    _builder(config, mechanism, None, {"initial": np.zeros(0)} if crafted else {})


def _refuse_alone(config: Config, mechanism: Mechanism) -> None:
    """Refuse many canaries where only one can be put in, or made."""
    if not config.one_run:
        return
    if getattr(mechanism, "canaries", 1) != config.canaries:
        raise BadInput(f"{config.mechanism} cannot be given many canaries in one training")
    builder = registry.load("canaries", config.canary)
    if not getattr(builder, "gradient", False) or "canaries" not in registry.asked(builder):
        raise BadInput(f"{config.canary} is one canary; many take --canary dirac, for example")


def _is_own(config: Config) -> bool:
    """Whether the mechanism is a user's function, MODULE:FUNCTION, and not a plug-in's name."""
    return ":" in config.mechanism or config.mechanism == OWN


def _mechanism(config: Config, loaded: Data) -> Mechanism:
    if not _is_own(config):
        made: Mechanism = registry.make(
            "mechanisms", config.mechanism, **{**vars(config), "data": loaded}
        )
        return made
    if config.mechanism == OWN:
        raise BadInput("name your own function instead: --mechanism MODULE:FUNCTION")
    if config.claim is None:
        raise BadInput(f"state what {config.mechanism} claims: --claim EPS,DELTA, such as 8,1e-5")
    return Function(
        config.mechanism, config.claim, loaded, config.outputs, config.samples, config.seed
    )


def _claim(config: Config, mechanism: Mechanism) -> Claim:
    """The mechanism's own claim, or the bare one that the user put in its place."""
    own = mechanism.claim
    if not isinstance(own, Claim):
        raise BadInput(f"the claim of {config.mechanism} must be a Claim, not {own!r:.60}")
    if config.claim in (None, (own.epsilon, own.delta)):
        return own
    if own.by_step:
        raise BadInput(
            "single steps show nothing of a claim that is not about how they make up the training; "
            "leave --claim out"
        )
    epsilon, delta = config.claim
    return Claim(
        epsilon, delta, unit=own.unit, adjacency=own.adjacency, beside={own.source: own.epsilon}
    )
