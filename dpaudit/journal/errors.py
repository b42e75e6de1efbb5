"""What can be wrong with a journal's file, in a user's words."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpaudit.errors import DiskFull, DpauditError, JournalError, has_room


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences that say what to do."""
    try:
        yield
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise damaged(path) from error
    except sqlite3.Error as error:
        raise _explanation(path, str(error)) from error


def damaged(path: Path, where: str = "") -> JournalError:
    """The error for a journal whose content cannot be right; `where` names the damaged part."""
    told = f"{path} is damaged or cut short" + (f" ({where})" if where else "")
    return JournalError(
        f"{told}; put it back from a copy, or choose another folder",
        "journal-damaged",
        value=str(path),
    )


def foreign(path: Path) -> JournalError:
    """The error for a file that dpaudit has not written."""
    return JournalError(
        f"{path} is not a dpaudit journal; choose another folder", "not-a-journal", value=str(path)
    )


def _explanation(path: Path, said: str) -> DpauditError:
    if "locked" in said:
        return JournalError(
            f"another dpaudit is at work in {path.parent}; wait for it to end",
            "journal-locked",
            value=str(path),
        )
    # SQLite tells of a quota that is full, and of a disk that is when a file is made, as of others.
    unknown = "disk I/O error" in said or "unable to open" in said
    if "full" in said or (unknown and not has_room(path.parent)):
        return DiskFull(
            f"the disk is full; what is in {path} is kept: make room and go on",
            "disk-full",
            value=str(path),
        )
    if "not a database" in said:
        return foreign(path)
    if any(words in said for words in ("malformed", "no such table", "not decode")):
        return damaged(path)
    return JournalError(f"{path} cannot be used: {said}", "journal-unusable", value=str(path))
