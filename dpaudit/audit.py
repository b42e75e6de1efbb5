"""An audit from its parts: play the game into a folder, judge what lies there."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import data, game, registry, report, settled
from dpaudit.config import Config, digest
from dpaudit.errors import BadInput
from dpaudit.files import write_whole
from dpaudit.game import Progress
from dpaudit.journal import Journal
from dpaudit.judge import Choice, judge
from dpaudit.protocols import CanaryBuilder, Mechanism
from dpaudit.seeds import trials
from dpaudit.types import Claim, Data, Pair, Report, neighbours

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
            given = {name: value for name, value in choice.items() if value not in (None, ())}
            chosen = {**vars(Choice.configured(journal.settings)), **given}
            if "primary" not in given and chosen["primary"] not in chosen["attacks"]:
                chosen["primary"] = "auto"
            return judge(journal, Choice(**chosen))

    def report(self, **choice: Any) -> str:
        """The verdict as text for a terminal."""
        return report.render(self.judge(**choice))


def play(
    mechanism: Mechanism,
    pair: Pair,
    models: int = Config.models,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = quiet,
) -> Run:
    """Play a mechanism on a pair; the same call on the same folder goes on where it stopped.

    Worker processes are started afresh, so a script calls this under
    ``if __name__ == "__main__":``.
    """
    models = Config(models=models).check().models
    try:
        pickle.dumps((mechanism, pair))
    except Exception as error:
        raise BadInput(f"the mechanism cannot be sent to worker processes: {error}") from error
    settings = {
        "mechanism": repr(mechanism),
        "pair": _fingerprint(pair),
        "models": models,
        "seed": seed,
    }
    run = Run(Path(out or f"runs/{digest(settings)}"))
    with (
        Journal.play(run.journal, settings) as journal,
        game.local_pool(workers or cores()) as pool,
    ):
        if journal.facts is None:
            settled.settle(journal, mechanism, mechanism.claim, pair)
        settled.refuse_other_versions(journal)
        game.play(mechanism, pair, trials(seed, models), journal, pool, progress)
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


def prepare(config: Config, say: Say = quiet) -> Prepared:
    """Find out everything that is wrong with a configuration before anything is written."""
    config.check()
    choice = Choice(config.attacks, config.primary, config.estimator, config.confidence)
    choice.make_attacks()
    choice.make_estimator(config.confidence)
    registry.load("canaries", config.canary)
    try:
        config.data.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the path {config.data!a} is not text; rename the file") from error
    loaded = data.load(config.data, config.seed)
    fingerprint = data.fingerprint(loaded)
    if config.fingerprint not in (None, fingerprint):
        raise BadInput(f"{config.data} does not hold the data that this configuration was made for")
    config = replace(config, fingerprint=fingerprint)
    say("accounting")
    mechanism = registry.make("mechanisms", config.mechanism, **{**vars(config), "data": loaded})
    _builder(config, mechanism, pool=None)
    return Prepared(config, loaded, mechanism, _claim(config, mechanism))


def run(
    prepared: Prepared,
    out: Path | None = None,
    workers: int | None = None,
    progress: Progress = quiet,
    say: Say = quiet,
) -> Run:
    """Play a configuration to its end; the same one on the same folder goes on."""
    config, loaded, mechanism = prepared.config, prepared.data, prepared.mechanism
    run = Run(out or prepared.folder)
    wanted = trials(config.seed, config.models)
    with Journal.play(run.journal, config.to_dict()) as journal:
        write_whole(run.path / "config.toml", config.to_toml().encode())
        canary = settled.canary(journal)
        if canary and not journal.missing(wanted):
            return run
        if canary:
            settled.refuse_other_versions(journal)
        with game.local_pool(workers or cores()) as pool:
            if canary:
                pair = neighbours(loaded, canary)
            else:
                say(f"making the canary ({config.canary})")
                pair = _builder(config, mechanism, pool).build(loaded, config.seed)
                settled.settle(journal, mechanism, prepared.claim, pair)
            game.play(mechanism, pair, wanted, journal, pool, progress)
    return run


def cores() -> int:
    """How many processes can work at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _builder(config: Config, mechanism: Mechanism, pool: Executor | None) -> CanaryBuilder:
    builder: CanaryBuilder = registry.make(
        "canaries",
        config.canary,
        recipe=getattr(mechanism, "recipe", None),
        clip=config.clip_canary,
        executor=pool,
    )
    return builder


def _claim(config: Config, mechanism: Mechanism) -> Claim:
    """The mechanism's own claim, or the bare one that the user put in its place."""
    own = mechanism.claim
    if config.claim is None:
        return own
    epsilon, delta = config.claim
    return Claim(
        epsilon, delta, unit=own.unit, adjacency=own.adjacency, beside={own.source: own.epsilon}
    )


def _fingerprint(pair: Pair) -> str:
    digest = hashlib.sha256()
    for records in (pair.out, pair.inn, pair.test):
        for array in (records.x, records.y):
            digest.update(f"{array.shape} {array.dtype.str} ".encode())
            digest.update(np.ascontiguousarray(array).data)
    digest.update(f"{pair.canary.y} ".encode() + np.ascontiguousarray(pair.canary.x).tobytes())
    return digest.hexdigest()
