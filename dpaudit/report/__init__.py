"""What an audit found: for a terminal, for a machine, and as a page with figures."""

from dpaudit.report.files import dump_html, write_folder
from dpaudit.report.html import page
from dpaudit.report.junit import dump_junit
from dpaudit.report.machine import dump, load_schema, to_dict
from dpaudit.report.sarif import dump_sarif
from dpaudit.report.source import source
from dpaudit.report.terminal import render

__all__ = [
    "dump",
    "dump_html",
    "dump_junit",
    "dump_sarif",
    "load_schema",
    "page",
    "render",
    "source",
    "to_dict",
    "write_folder",
]
