"""`dpaudit report RUN`: judge a journal again, without training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpaudit.cli import names
from dpaudit.cli.verdict import judging_options, refuse_unwritable, show, showing_options


@click.command("report")
@click.argument("run", type=click.Path(path_type=Path), shell_complete=names.runs)
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
