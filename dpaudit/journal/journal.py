"""The journal: every trial of one run, in one SQLite file, one transaction a batch of trials.

A kill at any instant loses the trials in flight and nothing else: trials that run together are
written together. A run holds the file exclusively, so that a second process on the same folder is
refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from dpaudit.config import JUDGING, differences
from dpaudit.errors import JournalError, OtherConfiguration, kind_of
from dpaudit.journal.file import (
    APPLICATION_ID,
    FORMAT,
    TABLES,
    JournalFile,
    checksum,
    damage_error,
    from_cell,
    to_cell,
    trial_checksum,
)
from dpaudit.types import TEST, Array, Known, Observation, Observations, Trial


class Journal(JournalFile):
    """A run's trials and what is known beforehand; made by `open_for_writing` or `read`."""

    @classmethod
    def open_for_writing(
        cls, path: Path, settings: Mapping[str, Any], durable: bool = True
    ) -> Journal:
        """Open a journal to add trials to: a new one, or that of the same settings.

        A journal that is not `durable`, because no run goes on with it, waits for no disk.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            folder, reason = str(path.parent), error.strerror or error
            message = f"the folder {folder} cannot be made ({reason}); choose another --out"
            raise kind_of(error, JournalError)(
                message, "folder-unwritable", option="out", value=folder
            ) from error
        with ExitStack() as on_error:
            journal = on_error.enter_context(cls._connect(path))
            with journal._explained():
                # SQLite would take a foreign file of a few bytes for an empty one.
                if journal._tables() or os.path.getsize(path):
                    journal._check()
                    journal._refuse_old()
                if not durable:
                    journal._db.execute("PRAGMA synchronous = OFF")
                journal._db.execute("PRAGMA locking_mode = EXCLUSIVE")
                journal._db.execute("BEGIN EXCLUSIVE")
                if journal._tables():
                    journal._db.execute("COMMIT")
                    journal._refuse_other(settings)
                else:
                    journal._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    journal._db.execute(f"PRAGMA user_version = {FORMAT}")
                    for statement in TABLES:
                        journal._db.execute(statement)
                    journal._put("settings", settings)
                    journal._db.execute("COMMIT")
            on_error.pop_all()
        return journal

    @classmethod
    def read(cls, path: Path) -> Journal:
        """Open the journal of an existing run."""
        if not os.path.isfile(path):
            message = f"there is no run at {path.parent} (no {path.name} in it)"
            raise JournalError(message, "no-run", value=str(path.parent))
        with ExitStack() as on_error:
            journal = on_error.enter_context(cls._connect(path))
            journal._check()
            on_error.pop_all()
        return journal

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the run was started with."""
        settings = self._get("settings")
        if not isinstance(settings, dict):
            raise damage_error(self.path)
        return settings

    @property
    def facts(self) -> dict[str, Any] | None:
        """The facts that were fixed before the first trial (claim, canary, sizes); None before."""
        facts: dict[str, Any] | None = self._get("facts")
        return facts

    @property
    def known(self) -> Known:
        """The arrays that the adversary has beforehand."""
        with self._explained():
            known = {}
            for name, npy, kept in self._rows(
                f"SELECT name, npy, {self._checksum_column} FROM known"
            ):
                self._refuse_changed(kept, name, npy)
                known[name] = from_cell(npy)
            return known

    def write_facts(self, facts: Mapping[str, Any], known: Known) -> None:
        """Write the facts and the adversary's arrays, once, before the first trial."""
        with self._transaction():
            self._put("facts", facts)
            for name, array in known.items():
                npy = to_cell(array)
                row = (name, checksum(name, npy), npy)
                self._db.execute("INSERT INTO known VALUES (?, ?, ?)", row)

    def add(self, trial: Trial, seen: Observation, seconds: float) -> None:
        """Add one finished trial."""
        self.add_all([trial], [seen], seconds)

    def add_all(self, trials: Sequence[Trial], seen: Sequence[Observation], seconds: float) -> None:
        """Add finished trials and the seconds that each took, in one transaction."""
        with self._transaction():
            for trial, observation in zip(trials, seen, strict=True):
                self._add(trial, observation, float(seconds))

    def _add(self, trial: Trial, observation: Observation, seconds: float) -> None:
        index, world, seed = int(trial.index), int(trial.world), int(trial.seed)
        kept = []
        for name in sorted(observation):
            npy = to_cell(observation[name])
            kept.append((name, checksum(index, world, name, npy)))
            cells: tuple[object, ...] = (index, world, *kept[-1], npy)
            self._db.execute("INSERT INTO seen VALUES (?, ?, ?, ?, ?)", cells)
        cells = (index, world, seed, seconds, trial_checksum(index, world, seed, seconds, kept))
        self._db.execute("INSERT INTO trials VALUES (?, ?, ?, ?, ?)", cells)

    def missing(self, wanted: Iterable[Trial]) -> list[Trial]:
        """The wanted trials that are not in the journal."""
        done = set(self._rows("SELECT world, idx FROM trials"))
        return [trial for trial in wanted if (trial.world, trial.index) not in done]

    def trials(self) -> tuple[Array, Array]:
        """The worlds and indices of all trials, in the order of `observations`."""
        rows = self._rows("SELECT world, idx FROM trials ORDER BY idx, world")
        table = np.array(rows, dtype=np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def observations(self, first: int = 0, before: int | None = None) -> Observations:
        """The observations that every trial has, stacked over the trials of these indices."""
        names = self._rows(
            "SELECT name FROM seen GROUP BY name "
            "HAVING COUNT(*) = (SELECT COUNT(*) FROM trials) ORDER BY name"
        )
        return {name: np.stack(list(self.arrays(name, first, before))) for (name,) in names}

    def arrays(self, name: str, first: int = 0, before: int | None = None) -> Iterator[Array]:
        """One kind of observation, from the trials of these indices that have it."""
        query = (
            f"SELECT idx, world, name, npy, {self._checksum_column} FROM seen "
            "WHERE name = ? AND idx >= ? AND (? IS NULL OR idx < ?) ORDER BY idx, world"
        )
        with self._explained():
            for row in self._db.execute(query, (name, first, before, before)):
                yield self._array(*row)

    def _array(self, index: int, world: int, name: str, npy: bytes, kept: bytes) -> Array:
        self._refuse_changed(kept, index, world, name, npy, where=_place(index, world))
        return from_cell(npy)

    def whole_pairs(self) -> int:
        """The number of indices from 0 on with trials in both worlds, without a gap."""
        _, indices = self.trials()
        played = np.bincount(indices, minlength=1)
        return int(np.argmin(np.append(played, 0) == 2))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of a trial's observations of the canary, by name; empty without a trial."""
        query = (
            f"SELECT idx, world, name, npy, {self._checksum_column} FROM seen "
            "WHERE (idx, world) IN (SELECT idx, world FROM trials ORDER BY idx, world LIMIT 1)"
        )
        with self._explained():
            rows = [row for row in self._rows(query) if not row[2].startswith(TEST)]
            return {row[2]: self._array(*row).shape for row in rows}

    def seconds(self) -> float:
        """The time that all trials took, added up over workers."""
        ((total,),) = self._rows("SELECT TOTAL(seconds) FROM trials")
        return float(total)

    def look(self, attack: str, estimator: str) -> int:
        """The number of a look by another primary than the run's own: 2 for the first of them.

        Only a new one is written, so that a read-only run can be judged.
        """
        if number := self._number(attack, estimator):
            return number
        with self._transaction():
            number = self.upcoming(attack, estimator)
            self._db.execute("INSERT INTO looks VALUES (?, ?, ?)", (number, attack, estimator))
        return number

    def upcoming(self, attack: str, estimator: str) -> int:
        """The number that such a look has or would have; nothing is written."""
        if number := self._number(attack, estimator):
            return number
        ((last,),) = self._rows("SELECT COALESCE(MAX(number), 1) FROM looks")
        return int(last) + 1

    def _number(self, attack: str, estimator: str) -> int:
        query = "SELECT number FROM looks WHERE attack = ? AND estimator = ?"
        found = self._rows(query, attack, estimator)
        return int(found[0][0]) if found else 0

    def _check(self) -> None:
        """Refuse also a file whose looks or list of trials are not as they were written.

        Their arrays are checked when they are read.
        """
        super()._check()
        numbers = [n for (n,) in self._rows("SELECT number FROM looks ORDER BY number")]
        if numbers != [*range(2, 2 + len(numbers))]:  # the confidence of a look depends on it
            raise damage_error(self.path, "looks")
        if not self._checked:
            return
        query = (
            "SELECT idx, world, seed, seconds, trials.checksum, name, seen.checksum FROM trials "
            "LEFT JOIN seen USING (idx, world) ORDER BY idx, world, name"
        )
        with self._explained():
            (unread,) = self._db.execute("SELECT COUNT(*) FROM seen").fetchone()
            for trial, rows in groupby(self._db.execute(query), itemgetter(0, 1, 2, 3, 4)):
                index, world, seed, seconds, kept = trial
                arrays = [row[5:] for row in rows if row[5] is not None]
                unread -= len(arrays)
                if trial_checksum(index, world, seed, seconds, arrays) != kept:
                    raise damage_error(self.path, _place(index, world))
            if unread:
                raise damage_error(self.path)

    def _refuse_old(self) -> None:
        """Refuse to add trials with checksums to a journal without."""
        if not self._checked:
            message = f"{self.path} has format {self._format}, which this dpaudit only reads"
            message += ": judge it with dpaudit report, or choose another --out"
            raise JournalError(message, "journal-old", value=self._format)

    def _refuse_other(self, settings: Mapping[str, Any]) -> None:
        differing = differences(there=self.settings, here=settings)
        if differing:
            fixed = self.settings.get("until_decided") or self.settings.get("canaries", 1) > 1
            message = (
                f"{self.path.parent} holds a run of another configuration "
                f"({'; '.join(differing)}); choose another --out"
            )
            if not fixed and all(text.split(":")[0] in JUDGING for text in differing):
                message += ", or judge it again with dpaudit report"
            raise OtherConfiguration(message, "other-configuration", value=differing)


def _place(index: int, world: int) -> str:
    return f"trial {index} of world {world}"
