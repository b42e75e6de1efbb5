"""A whole audit: prepare a configuration, run its trials into a folder, judge them."""

from dpaudit.audit.folder import Run
from dpaudit.audit.preparation import PreparedAudit, load_records, prepare
from dpaudit.audit.runner import play, run

__all__ = ["PreparedAudit", "Run", "load_records", "play", "prepare", "run"]
