"""`dpaudit report RUN`: judge a journal again, without training."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dpaudit.cli.verdict import judging_options, show


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path))
@judging_options
@click.option("--json", "json", type=click.Path(path_type=Path), help="Also write it as JSON.")
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 if the claim is refuted.")
def command(
    run: Path,
    attack: tuple[str, ...],
    estimator: str | None,
    defence: str | None,
    primary: str | None,
    confidence: float | None,
    json: Path | None,
    fail_on_violation: bool,
) -> None:
    """Judge a run again, without training.

    RUN is its folder; other attacks may be named. Another deciding attack than before is
    another look at the same models: it decides only with a higher confidence, which the
    report states.
    """
    from dpaudit.audit import Run

    found = Run(run).judge(
        attacks=attack,
        defence=defence,
        estimator=estimator,
        primary=primary,
        confidence=confidence,
    )
    show(found, json)
    if fail_on_violation and found.verdict == "VIOLATION":
        sys.exit(1)
