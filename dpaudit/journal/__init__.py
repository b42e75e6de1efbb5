"""The journal: every trial of one audit, durable and resumable."""

from dpaudit.journal.file import APPLICATION_ID, FORMAT
from dpaudit.journal.journal import Journal

__all__ = ["APPLICATION_ID", "FORMAT", "Journal"]
