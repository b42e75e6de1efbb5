"""What `run` and `report` share: how a journal is judged, and how that is shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dpaudit import report
from dpaudit.cli import Misuse, completion
from dpaudit.cli.output import Destination, refuse_same
from dpaudit.config.settings import Judging
from dpaudit.journal import file
from dpaudit.report.to_terminal import color_wanted
from dpaudit.results import Report

if TYPE_CHECKING:
    from dpaudit.audit.folder import Run

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)


def judging_options(command: F) -> F:
    """The options that choose attacks, estimator, the bound that decides, and its confidence."""
    for option in (
        click.option(
            "--raw-scores/--no-raw-scores",
            default=None,
            help="Do not round scores: a deliberate audit of what the low bits of floating-point "
            "noise give away.  [default: rounded]",
        ),
        click.option("--confidence", type=float, help=f"[default: {Judging.confidence}]"),
        click.option(
            "--primary",
            help="The attack whose bound decides, or all, each at its share of the error.  "
            "[default: picked on the choosing half]",
            shell_complete=completion.deciding,
        ),
        click.option(
            "--defence",
            help="What outputs go through first, such as quantize:0.01.  [default: none]",
            shell_complete=completion.defences,
        ),
        click.option(
            "--estimator",
            help="Scores or errors to epsilon.  [default: auto: the exact tests of scores, "
            "clopper-pearson for AND/OR rules]",
            shell_complete=completion.plugins("estimators"),
        ),
        click.option(
            "--attack",
            multiple=True,
            help="A name from dpaudit list, or an expression such as 'mean & inv_std'; may be "
            f"repeated.  [default: {', '.join(Judging.attacks)}]",
            shell_complete=completion.plugins("attacks"),
        ),
    ):
        command = option(command)
    return command


FILES = ("json", "html", "sarif", "junit")
"""What a report can be written as."""

SHOWN = (*FILES, "no_canary_image", "fail_on_violation")
"""What the options below give a command, by name."""


def showing_options(command: F) -> F:
    """The options that choose where the report goes, and what a verdict does to the exit code."""
    for option in (
        click.option("--fail-on-violation", is_flag=True, help="Exit with 1 if it is refuted."),
        click.option(
            "--no-canary-image", is_flag=True, help="Leave the canary out of page and figures."
        ),
        click.option("--junit", type=FILE, help="Also write it here as a test report, JUnit XML."),
        click.option("--sarif", type=FILE, help="Also write it here for code scanning, SARIF."),
        click.option("--html", type=FILE, help="Also write the report here, as a page."),
        click.option("--json", type=FILE, help="Also write the report here, for a machine."),
    ):
        command = option(command)
    return command


def refuse_unwritable(shown: Mapping[str, Any], folder: Path | None = None) -> None:
    """Refuse files that could not be written, before the work; in the run's own folder all can."""
    refuse_same({f"--{name}": shown[name] for name in FILES})
    for path in filter(None, (shown[name] for name in FILES)):
        problem = Destination().problem(os.fspath(path))
        own = path.parent == folder and path.name != file.NAME
        if problem and not own:
            raise Misuse(str(problem), problem.code)


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
    keep: bool = False,
) -> None:
    """Print the report, write it to files and, to keep it, into the run's folder; exit as asked."""
    if no_canary_image and found.evidence:
        hidden = replace(found.evidence, canary=None, original=None)
        found = replace(found, evidence=hidden)
    try:
        if keep:
            report.dump(found, run.path / "report.json")
            report.write_folder(found, run.path)
        if json is not None:
            report.dump(found, json)
        if html is not None:
            report.dump_html(found, html)
        if sarif is not None:
            report.dump_sarif(found, report.source(run.mechanism, run.path), sarif)
        if junit is not None:
            report.dump_junit(found, junit)
    finally:
        # A file that cannot be written costs hours of training nothing.
        click.echo(report.render(found, color=color_wanted()))
    if keep:
        click.echo(f"\nEverything is in {run.path}; open {run.path / 'report.html'}", err=True)
    if fail_on_violation and found.verdict == "VIOLATION":
        sys.exit(1)


# ----------------------------------------------------------------
# `dpaudit report RUN`: judge a journal again, without training.


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
@judging_options
@showing_options
def command(
    run: Path,
    attack: tuple[str, ...],
    estimator: str | None,
    defence: str | None,
    primary: str | None,
    confidence: float | None,
    raw_scores: bool | None,
    **shown: Any,
) -> None:
    """Judge a run again, without training.

    RUN is its folder; other attacks may be named. Another deciding attack than before is
    another look at the same models: it decides only with a higher confidence, which the
    report states.
    """
    from dpaudit.audit import Run

    refuse_unwritable(shown)
    found = Run(run).judge(
        attacks=attack,
        defence=defence,
        estimator=estimator,
        primary=primary,
        confidence=confidence,
        raw_scores=raw_scores,
    )
    show(Run(run), found, **shown)
