"""Reports of what was found: documents for a terminal and a browser, and formats for machines."""

from dpaudit.report.ci import dump_junit, dump_sarif, source
from dpaudit.report.machine import dump, load_schema, to_dict
from dpaudit.report.run import dump_html, page, render, write_folder

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
