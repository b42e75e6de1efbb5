"""Mechanisms that train nothing, for games of milliseconds; spawned workers import them by name.

`Leaky` is also registered as a third party's plug-in (see `conftest.py`), so that the command
line plays whole runs with it.
"""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from dpaudit.errors import BadInput
from dpaudit.journal import Journal
from dpaudit.judging.facts import RunFacts
from dpaudit.protocols import Mechanism
from dpaudit.seeds import trials
from dpaudit.types import (
    Adjacency,
    Array,
    Canary,
    Claim,
    Data,
    Observation,
    Observations,
    Pair,
    Records,
    Trial,
)

CLASSES, LABEL, SAMPLES = 3, 1, 5
KNOWN = {"label": np.array(LABEL)}
KEPT_RUN = Path(__file__).parent / "kept" / "run-0.1"
"""A finished run of randomized response, of format 1."""


# ---------------------------------------------------------------- what is released


def observe(
    worlds: Array, draw: np.random.Generator, shift: float = 0.0, label: int = LABEL
) -> Observations:
    """What networks might say of the canary; in D' the true class's logit is higher by `shift`."""
    n = len(worlds)
    logits = draw.normal(size=(n, CLASSES))
    logits[:, label] += shift * np.asarray(worlds)
    noise = 0.3 * draw.normal(size=(n, SAMPLES, CLASSES))
    return {
        "logits": logits.astype(np.float32),
        "probabilities": _softmax(logits),
        "mc": _softmax(logits[:, None] + noise),
        "accuracy": draw.uniform(0.8, 0.9, n).astype(np.float32),
    }


def _softmax(logits: Array) -> Array:
    p = np.exp(logits)
    return (p / p.sum(axis=-1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Shifted(Mechanism):
    """A pure function of world and seed, as a mechanism has to be."""

    shift: float = 0.0
    adjacency: Adjacency = "add-remove"

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1.0, delta=1e-5, adjacency=self.adjacency)

    def run(self, pair: Pair, trials: Sequence[Trial]) -> list[Observation]:
        time.sleep(float(os.environ.get("PLAYGROUND_PAUSE", "0")))
        return [self._play(trial, pair.canary.y) for trial in trials]

    def _play(self, trial: Trial, label: int = LABEL) -> Observation:
        draw = np.random.default_rng(trial.seed)
        seen = observe(np.array([trial.world]), draw, self.shift, label)
        return {name: array[0] for name, array in seen.items()}


class Leaky(Shifted):
    """Gives the canary away. (A plug-in of the test suite.)"""

    def __init__(self, data: Data, epsilon: float, delta: float) -> None:
        super().__init__(shift=20.0)
        object.__setattr__(self, "_claim", Claim(epsilon, delta, source="playground"))

    @property
    def claim(self) -> Claim:
        if self._claim.epsilon > 1000:
            raise BadInput(f"no accountant reaches epsilon {self._claim.epsilon:g}")
        return self._claim

    def _play(self, trial: Trial, label: int = LABEL) -> Observation:
        if os.environ.get("PLAYGROUND_DEADLY"):
            os.kill(os.getpid(), signal.SIGKILL)
        seen = super()._play(trial, label)
        if padding := int(os.environ.get("PLAYGROUND_PADDING", "0")):
            seen = {**seen, "padding": np.zeros(padding)}
        return seen


@dataclass(frozen=True)
class Telling(Shifted):
    """Leaves its process id behind, and then takes its time."""

    folder: Path = Path()
    seconds: float = 0.0

    def _play(self, trial: Trial, label: int = LABEL) -> Observation:
        (self.folder / str(os.getpid())).touch()
        time.sleep(self.seconds)
        return super()._play(trial, label)


@dataclass(frozen=True)
class Stalling(Shifted):
    """Writes its process id into a file in the middle of one trial and waits; once only."""

    file: Path = Path()

    def _play(self, trial: Trial, label: int = LABEL) -> Observation:
        if (trial.index, trial.world) == (2, 1) and not self.file.exists():
            self.file.with_suffix(".new").write_text(str(os.getpid()))
            self.file.with_suffix(".new").rename(self.file)
            time.sleep(60)
        return super()._play(trial, label)


# ---------------------------------------------------------------- what goes wrong


class Unsendable(Exception):
    """Not every exception can be pickled: this one cannot be made again from its message."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}")


@dataclass(frozen=True)
class Failing(Shifted):
    """Fails at one trial, in one of the ways in which code fails."""

    index: int = 0
    world: int = 1
    how: str = "raise"

    def _play(self, trial: Trial, label: int = LABEL) -> Observation:
        if (trial.index, trial.world) != (self.index, self.world):
            return super()._play(trial, label)
        if self.how == "raise":
            raise ArithmeticError("the loss is NaN")
        if self.how == "leave":
            raise SystemExit(1)
        if self.how == "raise unsendable":
            raise Unsendable("this", "that")
        if self.how == "exit":
            os._exit(3)
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"logits": lambda: "cannot be pickled"}


@dataclass(frozen=True)
class Unpicklable(Shifted):
    """A user's mechanism may hold what no process can be sent."""

    hold: object = field(default=lambda: None, repr=False)


# ---------------------------------------------------------------- games and journals


def tiny_pair(adjacency: Adjacency = "add-remove") -> Pair:
    """The smallest neighbours."""
    x, y = np.zeros((3, 1, 1, 2), np.float32), np.zeros(3, np.int64)
    canary = Canary(x=x[0], y=LABEL, name="tiny", made="by hand")
    out = Records(x, y)
    return Pair(out, out.plus(canary.x, canary.y), canary, test=out, adjacency=adjacency)


def facts(epsilon: float = 8.0, delta: float = 1e-5) -> dict[str, object]:
    """What a run settles before its first trial."""
    return {
        "claim": Claim(epsilon, delta).to_dict(),
        "data": {"name": "made up", "pool": 3},
        "canary": {"name": "tiny", "made": "by hand", "label": LABEL},
        "adversary": "sees everything",
        "backend": {"name": "none", "reason": "no training"},
        "versions": {"dpaudit": "0"},
        "warnings": [],
    }


def run_facts(claim: Claim, **changes: Any) -> RunFacts:
    """The same of a claim, as a judgement reads it."""
    return replace(RunFacts.from_dict(facts()), claim=claim, **changes)


def write_journal(
    path: Path,
    seen: Observations,
    epsilon: float = 8.0,
    delta: float = 1e-5,
    seed: int = 0,
    settled: Mapping[str, object] = MappingProxyType({}),
    **configured: Any,
) -> Path:
    """A journal of observations that come in the order of `seeds.trials`, with other facts."""
    (models,) = {len(array) for array in seen.values()}
    with Journal.open_for_writing(path, {"seed": seed, "models": models, **configured}) as journal:
        journal._db.execute("PRAGMA synchronous=OFF")  # no power cut is waited for here
        journal.write_facts({**facts(epsilon, delta), **settled}, KNOWN)
        for row, trial in enumerate(trials(seed, models)):
            journal.add(trial, {name: array[row] for name, array in seen.items()}, seconds=0.5)
    return path


def worlds_and_indices(models: int) -> tuple[Array, Array]:
    """Of the trials of a run, in their order."""
    wanted = trials(0, models)
    return np.array([t.world for t in wanted]), np.array([t.index for t in wanted])
