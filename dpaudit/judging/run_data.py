"""A complete journal, read and found to be whole: what every judgement starts from."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit import checks, registry
from dpaudit.errors import BadInput, JournalError, wrap_errors
from dpaudit.estimators.trials import Trials, choosing
from dpaudit.journal import Journal
from dpaudit.journal.file import damaged
from dpaudit.judging.facts import Settled
from dpaudit.outputs import with_statistics
from dpaudit.protocols import Attack, Defence, lacking
from dpaudit.seeds import generator, only_trial, row_seeds, trials
from dpaudit.types import GIVEN, IN, INSERTED, OUT, OWN, Array, Claim, Known, Observations, Trial

FEW = 8


@dataclass(frozen=True)
class RunData:
    """Everything that was seen, in which world, and what was settled before."""

    settings: Mapping[str, Any]
    settled: Settled
    seen: Observations
    worlds: Array
    known: Known
    own: Array
    """Each trial's own number, from which a random defence draws."""

    @property
    def claim(self) -> Claim:
        """What was promised."""
        return self.settled.claim

    @property
    def seed(self) -> int:
        """The root of the run's random numbers."""
        return int(self.settings["seed"])

    @property
    def models(self) -> dict[str, int]:
        """How many models there are, and what they are used for."""
        chooses = choosing(self.worlds)
        return {
            "in": int((self.worlds == IN).sum()),
            "out": int((self.worlds == OUT).sum()),
            "choosing": int(chooses.sum()),
            "judging": int((~chooses).sum()),
        }

    def after(self, defence: Defence) -> RunData:
        """The same game, seen through a defence."""
        seen = defence.protect({**self.seen, OWN: self.own})
        few = self._few()
        for name, array in self.a_few_after(defence).items():
            _refuse_mixing(f"the defence {defence}", array, seen[name][few])
        return replace(self, seen=seen)

    def a_few_after(self, defence: Defence) -> Observations:
        """What a defence lets out of some trials: enough to know what it releases."""
        few = self._few()
        return defence.protect({n: a[few] for n, a in {**self.seen, OWN: self.own}.items()})

    def trials(self, name: str, attack: Attack) -> Trials:
        """All trials as an attack looks at them."""
        refuse_lacking(name, attack, self.seen)
        few = self._few()
        with wrap_errors(f"the attack {name}"):
            features = attack.features(self.seen, self.known)
            again = attack.features({n: a[few] for n, a in self.seen.items()}, self.known)
            _refuse_mixing(f"the attack {name}", again, features[few])
            return Trials(features, self.worlds, attack=name)

    def _few(self) -> Array:
        """Some trials in a random order: what is made row by row is the same of them alone."""
        return generator(self.seed, "few").permutation(len(self.worlds))[:FEW]


def refuse_lacking(name: str, attack: Attack, seen: Observations) -> None:
    """An attack cannot look at what is not released; those that can are named instead."""
    if missing := lacking(attack, seen):
        others = ", ".join(fitting_names(seen))
        fit = f"; those that fit what is: {others}" if others else ", and none fits what is"
        raise BadInput(
            f"attack {name} needs {missing}, which is not released here{fit}",
            "not-released",
            option=name,
            value=missing,
        )


def fitting_names(seen: Collection[str]) -> list[str]:
    """The attacks among all plug-ins that see enough in what is released under these names."""
    fitting = []
    for name in registry.names("attacks"):
        with suppress(BadInput):  # what cannot be made fits nothing
            if not lacking(registry.attack(name), seen):
                fitting.append(name)
    return fitting


def _refuse_mixing(who: str, alone: Array, among: Array) -> None:
    """What looks at several rows at once would let judging trials into the choice of a rule."""
    if np.shape(alone) != np.shape(among) or not np.allclose(alone, among, equal_nan=True):
        raise BadInput(
            f"{who} does not work row by row: a row depends on the others beside it",
            "not-row-by-row",
            value=who,
        )


def read(journal: Journal, stopped: bool = False) -> RunData:
    """The journal's content; one that is not complete, or was tampered with, is refused.

    So is one of a run that was stopped by what its trials showed, unless the reader allows for
    that: their number is then no fixed one, on which all other judgements stand. Such a run is
    complete as far as its pairs are whole, whatever a kill may have left beyond them.
    """
    with _undamaged(journal):
        settings = journal.settings
        if settings.get("canaries", 1) > 1:
            raise BadInput(
                f"the run at {journal.path.parent} is one training with many canaries, of which "
                "only the guesses may be judged by: dpaudit report shows them",
                "judged-otherwise",
                option="canaries",
            )
        if settings.get("until_decided") and not stopped:
            raise BadInput(
                f"the run at {journal.path.parent} was to stop once its models had shown enough, "
                "so that only its own evidence may be judged by: dpaudit report shows it",
                "judged-otherwise",
                option="until_decided",
            )
        checks.refuse([checks.not_above("models", settings["models"])], str(journal.path))
        whole = journal.whole_pairs()
        wanted = trials(settings["seed"], settings["models"])
        _refuse_unfinished(journal, wanted, enough=stopped and whole > 0)
        return pairs(journal, 0, whole)


def canaries(journal: Journal) -> RunData:
    """The canaries of one training, each as if it were a trial: in or out by its own coin."""
    with _undamaged(journal):
        _refuse_unfinished(journal, [only_trial(journal.settings["seed"])])
        seen = journal.observations()
        (inserted,) = seen[INSERTED]
        return RunData(
            settings=journal.settings,
            settled=Settled.from_dict(journal.facts or {}),
            # What is one number is about the model, and the coins are what is to be guessed.
            seen={n: a[0] for n, a in seen.items() if a.ndim > 1 and n != INSERTED},
            worlds=np.where(inserted, IN, OUT),
            known=_known(journal),
            own=row_seeds(journal.settings["seed"], (("canary", i) for i in range(len(inserted)))),
        )


@contextmanager
def _undamaged(journal: Journal) -> Iterator[None]:
    """Names the journal as damaged where it does not hold what it should."""
    try:
        yield
    except (JournalError, BadInput):
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(journal.path) from error


def _refuse_unfinished(journal: Journal, trials: Sequence[Trial], enough: bool = False) -> None:
    """Refuse a journal with fewer trials than it was to have, unless they are enough; or others."""
    wanted = {(trial.world, trial.index) for trial in trials}
    worlds, indices = journal.trials()
    played = set(zip(worlds.tolist(), indices.tolist(), strict=True))
    if journal.facts is None or (played < wanted and not enough):
        folder = journal.path.parent
        raise BadInput(
            f"the run at {folder} is not complete ({len(played)} of {len(wanted)} models); "
            f"go on with {_way_on(folder)}",
            "not-complete",
            option="models",
            value=len(played),
        )
    if not played <= wanted:
        raise damaged(journal.path)


def pairs(journal: Journal, first: int, before: int) -> RunData:
    """The trials of some indices, all of which have been played."""
    indices, worlds = np.repeat(np.arange(first, before), 2), np.tile([OUT, IN], before - first)
    return RunData(
        settings=journal.settings,
        settled=Settled.from_dict(journal.facts or {}),
        seen=with_statistics(journal.observations(first, before)),
        worlds=worlds,
        known=_known(journal),
        own=row_seeds(
            journal.settings["seed"],
            zip(worlds.tolist(), indices.tolist(), strict=True),
        ),
    )


def _known(journal: Journal) -> Known:
    """What the adversary knows, by name."""
    return {name.removeprefix(GIVEN): array for name, array in journal.known.items()}


def _way_on(folder: Path) -> str:
    """How the run in a folder is played to its end."""
    config = folder / "config.toml"
    if config.is_file():
        return shlex.join(["dpaudit", "run", "--config", str(config), "--out", str(folder)])
    return "the same call of dpaudit.play"
