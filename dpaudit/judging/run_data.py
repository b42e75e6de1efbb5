"""The observations of a run, read from its journal: the input of every judgement."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import checks, registry
from dpaudit.errors import BadInput, JournalError, wrap_errors
from dpaudit.estimators.trials import Trials, choosing
from dpaudit.journal import Journal
from dpaudit.journal.file import damage_error
from dpaudit.judging.facts import RunFacts
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack, Defence, lacking
from dpaudit.seeds import generator, only_trial, row_seeds, trials
from dpaudit.types import GIVEN, IN, INSERTED, OUT, OWN, Array, Claim, Known, Observations, Trial

FEW = 8
"""Trials that a defence and an attack are checked on."""


@dataclass(frozen=True)
class RunData:
    """The observations of all trials, their worlds, and the facts of the run."""

    settings: Mapping[str, Any]
    facts: RunFacts
    seen: Observations
    worlds: Array
    known: Known
    own: Array
    """A number for each trial: the seed of a random defence."""

    @property
    def claim(self) -> Claim:
        """The audited claim."""
        return self.facts.claim

    @property
    def seed(self) -> int:
        """The root of the run's random numbers."""
        return int(self.settings["seed"])

    @property
    def models(self) -> dict[str, int]:
        """Numbers of models by world and by use."""
        inn, chooses = self.worlds == IN, choosing(self.worlds)
        uses = {"in": inn, "out": ~inn, "choosing": chooses, "judging": ~chooses}
        return {name: int(mask.sum()) for name, mask in uses.items()}

    @property
    def accuracies(self) -> dict[str, float]:
        """The models' mean accuracy, over all and by world; empty if it was not released."""
        accuracy = self.seen.get("accuracy")
        if accuracy is None:
            return {}
        rows = {"": slice(None), "_in": self.worlds == IN, "_out": self.worlds == OUT}
        return {f"accuracy{name}": float(np.mean(accuracy[here])) for name, here in rows.items()}

    def after(self, defence: Defence) -> RunData:
        """Return the same run with observations that have passed a defence."""
        seen = defence.protect({**self.seen, OWN: self.own})
        for name, array in self.a_few_after(defence).items():
            _refuse_mixing(f"the defence {defence}", array, seen[name][self._few])
        return replace(self, seen=seen)

    def a_few_after(self, defence: Defence) -> Observations:
        """Return some trials behind a defence: enough to know what it releases."""
        seen = {**self.seen, OWN: self.own}
        return defence.protect({name: array[self._few] for name, array in seen.items()})

    def trials(self, name: str, attack: Attack) -> Trials:
        """Return all trials with the features of an attack."""
        refuse_lacking(name, attack, self.seen)
        few = {n: a[self._few] for n, a in self.seen.items()}
        with wrap_errors(f"the attack {name}"):
            features = attack.features(self.seen, self.known)
            again = attack.features(few, self.known)
            _refuse_mixing(f"the attack {name}", again, features[self._few])
            return Trials(features, self.worlds, attack=name)

    @cached_property
    def _few(self) -> Array:
        """Return some trials in a random order: computed alone, their rows must be the same."""
        return generator(self.seed, "few").permutation(len(self.worlds))[:FEW]


def refuse_lacking(name: str, attack: Attack, seen: Observations) -> None:
    """Refuse an attack that needs outputs that are not released; name attacks that fit."""
    if missing := lacking(attack, seen):
        others = ", ".join(fitting_attacks(seen))
        fit = f"; those that fit what is: {others}" if others else ", and none fits what is"
        text = f"attack {name} needs {missing}, which is not released here{fit}"
        raise BadInput(text, "not-released", option=name, value=missing)


def fitting_attacks(seen: Collection[str]) -> list[str]:
    """Return the attacks among all plug-ins that fit observations of these names."""
    fitting = []
    for name in registry.names("attacks"):
        with suppress(BadInput):  # an attack that cannot be made fits nothing
            if not lacking(registry.attack(name), seen):
                fitting.append(name)
    return fitting


def _refuse_mixing(who: str, alone: Array, among: Array) -> None:
    """Refuse a row that depends on others: judging trials would influence the rule."""
    if np.shape(alone) != np.shape(among) or not np.allclose(alone, among, equal_nan=True):
        text = f"{who} does not work row by row: a row depends on the others beside it"
        raise BadInput(text, "not-row-by-row", value=who)


def read_run(journal: Journal, stopped: bool = False) -> RunData:
    """Read a complete run; refuse one that is not complete or was tampered with.

    A run until decided is read only if `stopped`: its number of trials is not fixed, as all
    other judgements assume. It is complete as far as its pairs are whole.
    """
    with _undamaged(journal):
        settings = journal.settings
        other = ""
        if settings.get("canaries", 1) > 1:
            option, other = "canaries", "one training with many canaries"
        elif settings.get("until_decided") and not stopped:
            option, other = "until_decided", "a run until decided"
        if other:
            raise BadInput(
                f"the run at {journal.path.parent} is {other}, which can be judged only as it was "
                "configured (dpaudit report)",
                "judged-otherwise",
                option=option,
            )
        checks.refuse([checks.not_above("models", settings["models"])], str(journal.path))
        whole = journal.whole_pairs()
        wanted = trials(settings["seed"], settings["models"])
        _refuse_unfinished(journal, wanted, enough=stopped and whole > 0)
        return read_pairs(journal, 0, whole)


def read_pairs(journal: Journal, first: int, before: int) -> RunData:
    """Read the trials of some indices, all of which have been played."""
    indices, worlds = np.repeat(np.arange(first, before), 2), np.tile([OUT, IN], before - first)
    rows = zip(worlds.tolist(), indices.tolist(), strict=True)
    return _run_data(journal, with_statistics(journal.observations(first, before)), worlds, rows)


def read_canaries(journal: Journal) -> RunData:
    """Read the canaries of one training as if each were a trial, in the world of its coin."""
    with _undamaged(journal):
        _refuse_unfinished(journal, [only_trial(journal.settings["seed"])])
        seen = journal.observations()
        (inserted,) = seen[INSERTED]
        # A scalar is about the whole model, and the coins are the truth.
        released = {n: a[0] for n, a in seen.items() if a.ndim > 1 and n != INSERTED}
        rows = (("canary", i) for i in range(len(inserted)))
        return _run_data(journal, released, np.where(inserted, IN, OUT), rows)


def _run_data(
    journal: Journal, seen: Observations, worlds: Array, rows: Iterator[tuple[str | int, ...]]
) -> RunData:
    settings = journal.settings
    known = {name.removeprefix(GIVEN): array for name, array in journal.known.items()}
    return RunData(
        settings, RunFacts.of(journal), seen, worlds, known, row_seeds(settings["seed"], rows)
    )


@contextmanager
def _undamaged(journal: Journal) -> Iterator[None]:
    """Report a journal that lacks what it should have as damaged."""
    try:
        yield
    except (JournalError, BadInput):
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damage_error(journal.path) from error


def _refuse_unfinished(journal: Journal, trials: Sequence[Trial], enough: bool = False) -> None:
    """Refuse a journal that has fewer trials than wanted, unless they are enough; or others."""
    wanted = {(trial.world, trial.index) for trial in trials}
    worlds, indices = journal.trials()
    played = set(zip(worlds.tolist(), indices.tolist(), strict=True))
    if journal.facts is None or (played < wanted and not enough):
        folder = journal.path.parent
        text = (
            f"the run at {folder} is not complete ({len(played)} of {len(wanted)} models); "
            f"go on with {_resuming_command(folder)}"
        )
        raise BadInput(text, "not-complete", option="models", value=len(played))
    if not played <= wanted:
        raise damage_error(journal.path)


def _resuming_command(folder: Path) -> str:
    """Return the command that completes the run in a folder."""
    config = folder / "config.toml"
    if config.is_file():
        return shlex.join(["dpaudit", "run", "--config", str(config), "--out", str(folder)])
    return "the same call of dpaudit.play"
