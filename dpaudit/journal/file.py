"""The file that a journal is: opened, recognised, checked, and written in whole transactions.

Every array, and every text of settings and facts, has a checksum; a trial's covers its index,
world, seed and seconds, and the checksums of its arrays by name. So an array is checked when it is
read, one at a time, and a trial without reading its arrays. Checksums find damage; they do not
protect against somebody who changes a journal on purpose.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpaudit.errors import DiskFull, DpauditError, JournalError, has_room
from dpaudit.types import Array

NAME = "journal.sqlite"
"""The name of the file in a run's folder."""

DATABASE = b"SQLite format 3\0"
"""The first bytes of any SQLite file."""

APPLICATION_ID = 0x64706175  # 'dpau', in the file's header: a foreign database is recognised
FORMAT = 2
UNCHECKED = 1
"""The format of 0.1 without checksums, which is still read."""

TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL)",
    "CREATE TABLE known (name TEXT PRIMARY KEY, checksum BLOB NOT NULL, npy BLOB NOT NULL)",
    "CREATE TABLE trials (idx INTEGER, world INTEGER, seed INTEGER NOT NULL, "
    "seconds REAL NOT NULL, checksum BLOB NOT NULL, PRIMARY KEY (idx, world))",
    # The order of the key is that of reading: arrays are read one by one, without a sort.
    "CREATE TABLE seen (idx INTEGER, world INTEGER, name TEXT, checksum BLOB NOT NULL, "
    "npy BLOB NOT NULL, PRIMARY KEY (idx, world, name))",
    "CREATE TABLE looks (number INTEGER PRIMARY KEY, attack TEXT, estimator TEXT, "
    "UNIQUE (attack, estimator))",
)

SIZE = 16
"""Bytes of a checksum; damage goes unnoticed with a chance of 2^-128."""


def checksum(*parts: object) -> bytes:
    """The BLAKE2b digest of texts, numbers and bytes, in their order."""
    digest = hashlib.blake2b(digest_size=SIZE)
    for part in parts:
        # Quotes tell a text from a number; lengths tell where a part ends.
        content = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(content).to_bytes(8, "big"))
        digest.update(content)
    return digest.digest()


def trial_checksum(
    index: int, world: int, seed: int, seconds: float, arrays: Iterable[tuple[str, bytes]]
) -> bytes:
    """The checksum of a trial, from the names and checksums of its arrays in the order of names."""
    return checksum(index, world, seed, seconds, *chain.from_iterable(arrays))


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences that say what to do."""
    try:
        yield
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damage_error(path) from error
    except sqlite3.Error as error:
        raise _explanation(path, str(error)) from error


def damage_error(path: Path, where: str = "") -> JournalError:
    """The error for a journal whose content cannot be right; `where` names the damaged part."""
    part = f" ({where})" if where else ""
    message = f"{path} is damaged or cut short{part}; restore a copy or choose another folder"
    return JournalError(message, "journal-damaged", value=str(path))


def foreign(path: Path) -> JournalError:
    """The error for a file that dpaudit has not written."""
    message = f"{path} is not a dpaudit journal; choose another folder"
    return JournalError(message, "not-a-journal", value=str(path))


def _explanation(path: Path, message: str) -> DpauditError:
    if "locked" in message:
        message = f"another dpaudit uses {path.parent}; wait for it to end"
        return JournalError(message, "journal-locked", value=str(path))
    # SQLite reports a full quota, and a disk that is full when a file is made, as other errors.
    unknown = "disk I/O error" in message or "unable to open" in message
    if "full" in message or (unknown and not has_room(path.parent)):
        message = f"the disk is full; {path} is kept: make room and give the same command again"
        return DiskFull(message, "disk-full", value=str(path))
    if "not a database" in message:
        return foreign(path)
    if any(words in message for words in ("malformed", "no such table", "not decode")):
        return damage_error(path)
    return JournalError(f"{path} cannot be used: {message}", "journal-unusable", value=str(path))


Opened = TypeVar("Opened", bound="JournalFile")


class JournalFile:
    """One SQLite file of dpaudit's own; its errors are sentences for a user."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._format = FORMAT

    @classmethod
    def _connect(cls: type[Opened], path: Path) -> Opened:
        if _is_foreign(path):
            raise foreign(path)
        with explain_errors(path):
            return cls(path, sqlite3.connect(path, timeout=1.0, isolation_level=None))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _tables(self) -> int:
        # A first query also takes back what a killed process has left half written.
        (tables,) = self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        return int(tables)

    def _check(self) -> None:
        """Refuse a foreign, unfinished, newer or damaged file."""
        with self._explained():
            (application,) = self._db.execute("PRAGMA application_id").fetchone()
            (self._format,) = self._db.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID:
                raise foreign(self.path)
            if self._format not in (UNCHECKED, FORMAT):
                message = f"{self.path} has format {self._format}; this dpaudit reads formats"
                message += f" {UNCHECKED} to {FORMAT}"
                raise JournalError(message, "journal-format", value=self._format)
            # Not quick_check, which does not hold indices against their tables.
            (health,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (page,) = self._db.execute("PRAGMA page_size").fetchone()
            # SQLite reads zeros where the last page is cut short.
            if health != "ok" or os.path.getsize(self.path) < pages * page:
                raise damage_error(self.path)
            tables = self._db.execute("SELECT sql FROM sqlite_master WHERE sql NOT NULL")
            if self._checked and {sql for (sql,) in tables} != set(TABLES):
                raise damage_error(self.path)

    @property
    def _checked(self) -> bool:
        """True where the file's format has checksums."""
        return self._format != UNCHECKED

    @property
    def _checksum_column(self) -> str:
        """The name of the checksum column in a query."""
        return "checksum" if self._checked else "NULL"

    def _refuse_changed(self, kept: bytes, *parts: object, where: str = "") -> None:
        """Refuse parts that are not as they were written, by their checksum."""
        if self._checked and checksum(*parts) != kept:
            raise damage_error(self.path, where)

    def _get(self, key: str) -> Any:
        with self._explained():
            query = f"SELECT value, {self._checksum_column} FROM meta WHERE key = ?"
            rows = self._rows(query, key)
            if not rows:
                return None
            ((value, kept),) = rows
            self._refuse_changed(kept, key, value)
            return json.loads(value)

    def _rows(self, query: str, *values: object) -> list[Any]:
        """All rows of a query."""
        with self._explained():
            return self._db.execute(query, values).fetchall()

    def _put(self, key: str, value: Mapping[str, Any]) -> None:
        text = json.dumps(value)
        self._db.execute("INSERT INTO meta VALUES (?, ?, ?)", (key, text, checksum(key, text)))

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
        return explain_errors(self.path)


def is_blank(path: Path) -> bool:
    """Return True if a run has not begun: there is no file, or nothing was committed to it."""
    return not any(_header(path))


def is_database(path: Path) -> bool:
    """Return True if a file is a database of SQLite, as every journal is."""
    return _header(path).startswith(DATABASE)


def _is_foreign(path: Path) -> bool:
    """Return True if a file's header is another program's; SQLite might change or add files.

    An empty header is that of a journal whose first transaction was interrupted.
    """
    header = _header(path)
    ours = APPLICATION_ID.to_bytes(4, "big")
    return any(header) and not (header.startswith(DATABASE) and header[68:72] == ours)


def _header(path: Path) -> bytes:
    # SQLite reports a file that cannot be opened; opening a pipe would wait for its writer.
    if path.is_file():
        with suppress(OSError), path.open("rb") as file:
            return file.read(100)
    return b""


def to_cell(array: Array) -> bytes:
    """The bytes of a cell for an array."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_cell(npy: bytes) -> Array:
    """The array of a cell."""
    try:
        return np.asarray(np.load(io.BytesIO(npy), allow_pickle=False))
    except Exception as error:
        # SQLite does not check its cells, and numpy raises many things on damaged ones.
        raise sqlite3.DatabaseError("malformed array") from error
