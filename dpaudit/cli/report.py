"""`dpaudit report RUN`: judge a run again, without training; and the output of any report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit import report
from dpaudit.cli import completion
from dpaudit.cli.command import Command
from dpaudit.cli.options import JUDGING, REPORTED
from dpaudit.cli.output import deliver, places, stop_if
from dpaudit.report.run import document
from dpaudit.results import Report

if TYPE_CHECKING:
    from dpaudit.audit.folder import Run


def show(run: Run, found: Report, output: Mapping[str, Any], keep: bool = False) -> None:
    """Print the report and write its files; with `keep`, into the run's folder, too."""
    if output["no_canary_image"] and found.evidence:
        found = replace(found, evidence=replace(found.evidence, canary=None, original=None))
    json, html, sarif, junit = (output[name] for name in ("json", "html", "sarif", "junit"))
    folder, place = run.path if keep else None, report.source(run.mechanism, run.path)
    page = html or run.path / "report.html"
    written = places(page if html or keep else None, json, sarif, junit)
    if not written and page.is_file():
        written = f"{page} (of the run; --html FILE writes this one)"
    deliver(
        document(found, written),
        output["detail"],
        (folder, lambda path: report.dump(found, path / "report.json")),
        (folder, lambda path: report.write_folder(found, path)),
        (json, lambda path: report.dump(found, path)),
        (html, lambda path: report.dump_html(found, path)),
        (sarif, lambda path: report.dump_sarif(found, place, path)),
        (junit, lambda path: report.dump_junit(found, path)),
    )
    stop_if(found, output)


@click.command("report", cls=Command, groups=(JUDGING, REPORTED))
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
def command(run: Path, attack: tuple[str, ...], **given: Any) -> None:
    """Judge a run again, without training.

    RUN is its folder; other attacks may be named. Another deciding attack than before is
    another look at the same models: it decides only with a higher confidence, which the
    report states.
    """
    from dpaudit.audit import Run

    output = REPORTED.take(given)
    show(Run(run), Run(run).judge(attacks=attack, **given), output)
