"""The errors that dpaudit raises on purpose; each is also the nearest builtin error.

An error has a sentence for people and, for programs, a `code` that stays the same when the sentence
changes, the `option` or setting that it is about, and the `value` that cannot be used.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

FULL = (errno.ENOSPC, errno.EDQUOT)
"""The system's codes for a disk or a quota that is full."""


class DpauditError(Exception):
    """An error that one sentence explains to the user."""

    code = "error"

    def __init__(
        self,
        sentence: str,
        code: str = "",
        *,
        option: str = "",
        value: object = None,
        problems: Sequence[DpauditError] = (),
    ) -> None:
        super().__init__(sentence)
        self.code = code or type(self).code
        self.option, self.value = option, value
        self.problems = tuple(problems)
        """The single problems, if there are several."""

    def __str__(self) -> str:
        return str(self.args[0])

    def with_sentence(self, sentence: str) -> Self:
        """Return the same problem with another sentence, such as one that names its file."""
        same = type(self)(sentence, self.code, option=self.option, value=self.value)
        same.problems = self.problems
        return same


class BadInput(DpauditError, ValueError):
    """A value, a file or a combination of options that cannot be used."""

    code = "bad-input"


class JournalError(DpauditError, OSError):
    """A journal that cannot be opened, read or written."""

    code = "journal"


class OtherConfiguration(JournalError):
    """A run folder that already holds a run of another configuration."""

    code = "other-configuration"


class DiskFull(DpauditError, OSError):
    """A file that cannot be written because its disk, or the user's quota, is full."""

    code = "disk-full"

    def __init__(self, sentence: str, code: str = "", **about: Any) -> None:
        super().__init__(sentence, type(self).code, **about)


class TrialFailed(DpauditError, RuntimeError):
    """A trial that raised, or whose output cannot be used."""

    code = "trial-failed"


class WorkersLost(DpauditError, RuntimeError):
    """Worker processes that died or can no longer be reached; the input is not at fault."""

    code = "workers-lost"


def one_line(error: BaseException, most: int = 160) -> str:
    """The first characters of an error's text, on one line; its type if it has no text."""
    return " ".join(str(error).split())[:most] or type(error).__name__


def is_full(error: BaseException) -> bool:
    """Return whether an error means that a disk is full."""
    return isinstance(error, OSError) and error.errno in FULL


def kind_of(error: BaseException, otherwise: type[DpauditError]) -> type[DpauditError]:
    """Return the class to raise because of another error: `DiskFull` if the disk is full."""
    return DiskFull if is_full(error) else otherwise


def write_error(path: str | os.PathLike[str], error: OSError, way_out: str = "") -> DpauditError:
    """Return the error of a file that cannot be written."""
    sentence = f"cannot write {path}: {error.strerror or error}{way_out}"
    return kind_of(error, BadInput)(sentence, "file-unwritable", value=str(path))


def has_room(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder can be written to, for libraries that do not report a full disk."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(1 << 16))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return not is_full(error)
    return True


@contextmanager
def wrap_errors(who: str, did: str = "failed") -> Iterator[None]:
    """Turn any error of a plug-in or of the user's code into one sentence that names it.

    A worker process that died is not its error; whoever started the process reports that.
    """
    try:
        yield
    except (DpauditError, BrokenExecutor):
        raise
    except (Exception, SystemExit) as error:
        name = type(error).__name__
        sentence = f"{who} {did}: {' '.join(f'{name}: {error}'.split())}"
        raise kind_of(error, BadInput)(sentence, "code-failed", value=name) from error
