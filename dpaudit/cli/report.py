"""`dpaudit report RUN`: judge a run again, without training; and the output of any report."""

from __future__ import annotations

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
from dpaudit.report.to_terminal import Detail
from dpaudit.results import Report

if TYPE_CHECKING:
    from dpaudit.audit.folder import Run

SHOWN = (
    "json",
    "html",
    "sarif",
    "junit",
    "no_canary_image",
    "fail_on_violation",
    "fail_on_weak",
    "detail",
)
"""The parameters that `REPORTED` gives a command."""


def show(
    run: Run,
    found: Report,
    *,
    json: Path | None,
    html: Path | None,
    sarif: Path | None,
    junit: Path | None,
    no_canary_image: bool,
    fail_on_violation: bool,
    fail_on_weak: bool,
    detail: Detail | None,
    keep: bool = False,
) -> None:
    """Print the report and write its files; with `keep`, into the run's folder, too."""
    if no_canary_image and found.evidence:
        found = replace(found, evidence=replace(found.evidence, canary=None, original=None))
    folder = run.path if keep else None
    written = places(html or (run.path / "report.html" if keep else None), json, sarif, junit)
    deliver(
        document(found, written),
        detail,
        (folder, lambda path: report.dump(found, path / "report.json")),
        (folder, lambda path: report.write_folder(found, path)),
        (json, lambda path: report.dump(found, path)),
        (html, lambda path: report.dump_html(found, path)),
        (
            sarif,
            lambda path: report.dump_sarif(found, report.source(run.mechanism, run.path), path),
        ),
        (junit, lambda path: report.dump_junit(found, path)),
    )
    stop_if(found, fail_on_violation, fail_on_weak)


@click.command("report", cls=Command, groups=(JUDGING, REPORTED))
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
def command(run: Path, attack: tuple[str, ...], **given: Any) -> None:
    """Judge a run again, without training.

    RUN is its folder; other attacks may be named. Another deciding attack than before is
    another look at the same models: it decides only with a higher confidence, which the
    report states.
    """
    from dpaudit.audit import Run

    shown = {name: given.pop(name) for name in SHOWN}
    found = Run(run).judge(attacks=attack, **given)
    show(Run(run), found, **shown)
