"""The journal: every trial of one audit, durable and resumable."""

from dpaudit.journal.journal import Journal

__all__ = ["Journal"]
