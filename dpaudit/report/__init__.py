"""What an audit found, for a terminal and for a machine."""

from dpaudit.report.machine import dump, load_schema, to_dict
from dpaudit.report.terminal import render

__all__ = ["dump", "load_schema", "render", "to_dict"]
