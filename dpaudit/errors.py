"""The errors that dpaudit raises on purpose; each is also the nearest builtin error."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager


class DpauditError(Exception):
    """Anything that dpaudit can explain to its user in one sentence."""


class BadInput(DpauditError, ValueError):
    """A value, a file or a combination of options that cannot be used."""


class JournalError(DpauditError, OSError):
    """A journal that cannot be opened, read or written."""


class OtherConfiguration(JournalError):
    """A run folder that already holds a run of another configuration."""


class TrialFailed(DpauditError, RuntimeError):
    """A trial that raised, or a worker process that died while it played one."""


@contextmanager
def blamed(who: str, did: str = "failed") -> Iterator[None]:
    """Whatever somebody's code raises, as one sentence that says whose code it was.

    A worker process that died is nobody's code: that is told by those who started it.
    """
    try:
        yield
    except (DpauditError, BrokenExecutor):
        raise
    except (Exception, SystemExit) as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise BadInput(f"{who} {did}: {told}") from error
