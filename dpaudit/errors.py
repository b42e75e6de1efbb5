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
    """Anything that dpaudit can explain to its user in one sentence."""

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
        """The single problems, where there are several."""

    def __str__(self) -> str:
        return str(self.args[0])

    def with_sentence(self, sentence: str) -> Self:
        """The same problem in another sentence, such as one that says where it is."""
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
    """A file that cannot be written because its disk, or the user's share of it, is full."""

    code = "disk-full"

    def __init__(self, sentence: str, code: str = "", **about: Any) -> None:
        """Whatever could not be written, the code is that of a full disk."""
        super().__init__(sentence, type(self).code, **about)


class TrialFailed(DpauditError, RuntimeError):
    """A trial that raised, or released what cannot be used."""

    code = "trial-failed"


class WorkersLost(DpauditError, RuntimeError):
    """Worker processes that died or cannot be reached any more, through no fault of the input."""

    code = "workers-lost"


def is_full(error: BaseException) -> bool:
    """Tell whether an error means that a disk is full."""
    return isinstance(error, OSError) and error.errno in FULL


def kind_of(error: BaseException, otherwise: type[DpauditError]) -> type[DpauditError]:
    """The kind of error to raise because of another one: a full disk is always told as that."""
    return DiskFull if is_full(error) else otherwise


def write_error(path: str | os.PathLike[str], error: OSError, way_out: str = "") -> DpauditError:
    """The error to raise for a file that cannot be written."""
    said = f"cannot write {path}: {error.strerror or error}{way_out}"
    return kind_of(error, BadInput)(said, "file-unwritable", value=str(path))


def has_room(folder: str | os.PathLike[str]) -> bool:
    """Try to write into a folder; for libraries that do not say that a disk is full."""
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
    """Whatever somebody's code raises, as one sentence that says whose code it was.

    A worker process that died is nobody's code: that is told by those who started it.
    """
    try:
        yield
    except (DpauditError, BrokenExecutor):
        raise
    except (Exception, SystemExit) as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise kind_of(error, BadInput)(
            f"{who} {did}: {told}", "code-failed", value=type(error).__name__
        ) from error
