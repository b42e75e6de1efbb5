"""`dpaudit compare RUN`: defences side by side, leak and utility."""

from __future__ import annotations

from pathlib import Path

import click

from dpaudit.cli import names
from dpaudit.config import Config


@click.command("compare")
@click.argument("run", type=click.Path(path_type=Path), shell_complete=names.runs)
@click.option(
    "--defence",
    multiple=True,
    required=True,
    shell_complete=names.defences,
    help="A name from dpaudit list and its number, such as quantize:0.01; may be repeated.",
)
@click.option(
    "--attack",
    multiple=True,
    shell_complete=names.plugins("attacks"),
    help="A name from dpaudit list, or an expression such as 'mean & inv_std'; may be repeated.  "
    "[default: those of the run]",
)
@click.option(
    "--estimator",
    help="Scores or errors to epsilon.  [default: that of the run]",
    shell_complete=names.plugins("estimators"),
)
@click.option("--confidence", type=float, help=f"[default: {Config.confidence}]")
@click.option("--json", "json", type=click.Path(path_type=Path), help="Also write it as JSON.")
def command(
    run: Path,
    defence: tuple[str, ...],
    attack: tuple[str, ...],
    estimator: str | None,
    confidence: float | None,
    json: Path | None,
) -> None:
    """Show what defences stop and what they cost.

    RUN is the folder of a finished run; nothing is trained. What its models released is seen
    through each defence, and attacked anew: with and without it the published estimate, the
    certified leak, the accuracy, and the share of records that no label can be given to.
    """
    from dpaudit.audit import Run
    from dpaudit.report import comparison, comparison_json

    found = Run(run).compared(defence, attacks=attack, estimator=estimator, confidence=confidence)
    try:
        if json is not None:
            comparison_json.dump(found, json)
    finally:
        click.echo(comparison.render(found))
