"""A whole audit: prepare a configuration, run its trials into a folder, judge them."""

from dpaudit.audit.folder import Run
from dpaudit.audit.preparation import Prepared, prepare, records
from dpaudit.audit.runner import play, run

__all__ = ["Prepared", "Run", "play", "prepare", "records", "run"]
