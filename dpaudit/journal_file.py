"""The file that a journal is: opened, recognised, checked, and written in whole transactions."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from dpaudit.errors import JournalError
from dpaudit.journal_errors import damaged, explained
from dpaudit.types import Array

NAME = "journal.sqlite"
"""Of the file in a run's folder."""

APPLICATION_ID = 0x64706175  # 'dpau', in the file's header: a foreign database is recognised
FORMAT = 1

Opened = TypeVar("Opened", bound="JournalFile")


class JournalFile:
    """One SQLite file of dpaudit's own; what goes wrong with it is said in a user's words."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db

    @classmethod
    def _connect(cls: type[Opened], path: Path) -> Opened:
        with explained(path):
            return cls(path, sqlite3.connect(path, timeout=1.0, isolation_level=None))

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def _tables(self) -> int:
        # A first query also takes back what a killed process has left half written.
        (tables,) = self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        return int(tables)

    def _is_empty(self) -> bool:
        # SQLite would take a foreign file of a few bytes for an empty one, and overwrite it.
        return self._tables() == 0 and os.path.getsize(self.path) == 0

    def _check(self) -> None:
        """Refuse a foreign, unfinished, newer or damaged file."""
        with self._explained():
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID:
                raise JournalError(f"{self.path} is not a dpaudit journal; choose another folder")
            if version != FORMAT:
                raise JournalError(f"{self.path} has format {version}; this dpaudit reads {FORMAT}")
            (health,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (page,) = self._db.execute("PRAGMA page_size").fetchone()
            # SQLite reads zeros where the last page is cut short.
            if health != "ok" or os.path.getsize(self.path) < pages * page:
                raise JournalError(damaged(self.path))

    def _get(self, key: str) -> Any:
        with self._explained():
            row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return None if row is None else json.loads(row[0])

    def _put(self, key: str, value: Mapping[str, Any]) -> None:
        self._db.execute("INSERT INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.path)


def to_cell(array: Array) -> bytes:
    """An array as a cell holds it."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_cell(npy: bytes) -> Array:
    """The array that a cell holds."""
    try:
        array: Array = np.load(io.BytesIO(npy), allow_pickle=False)
    except Exception as error:
        # SQLite does not check what its cells hold, and numpy raises many things on damaged ones.
        raise sqlite3.DatabaseError("malformed array") from error
    return array
