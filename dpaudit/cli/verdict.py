"""What `run` and `report` share: how a journal is judged, and how that is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dpaudit import report
from dpaudit.config import Config
from dpaudit.types import Report

F = TypeVar("F", bound=Callable[..., Any])


def judging_options(command: F) -> F:
    """The options that choose attacks, estimator, the bound that decides, and its confidence."""
    for option in (
        click.option("--confidence", type=float, help=f"[default: {Config.confidence}]"),
        click.option(
            "--primary",
            help="The attack whose bound decides.  [default: picked on the choosing half]",
        ),
        click.option(
            "--defence",
            help="What outputs go through first, such as quantize:0.01.  [default: none]",
        ),
        click.option("--estimator", help=f"Errors to epsilon.  [default: {Config.estimator}]"),
        click.option(
            "--attack",
            multiple=True,
            help="A name from dpaudit list, or an expression such as 'mean & inv_std'; may be "
            f"repeated.  [default: {', '.join(Config.attacks)}]",
        ),
    ):
        command = option(command)
    return command


def show(found: Report, *files: Path | None) -> None:
    """Print the report, and write it to files."""
    try:
        for file in files:
            if file is not None:
                report.dump(found, file)
    finally:
        # A file that cannot be written costs hours of training nothing.
        click.echo(report.render(found, color=bool(sys.stdout and sys.stdout.isatty())))
