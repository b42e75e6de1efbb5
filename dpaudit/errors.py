"""The errors that dpaudit raises on purpose; each is also the nearest builtin error."""

from __future__ import annotations


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
