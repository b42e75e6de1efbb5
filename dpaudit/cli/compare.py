"""`dpaudit compare RUN`: defences side by side, leak and utility."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpaudit.cli import completion
from dpaudit.cli.output import FIGURES, Destination, Progress, refuse_same
from dpaudit.config.settings import Judging

if TYPE_CHECKING:
    from dpaudit.judging.compare import Comparison


@click.command("compare")
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
@click.option(
    "--defence",
    multiple=True,
    shell_complete=completion.defences,
    help="A name from dpaudit list and its number, such as quantize:0.01, or several in a row, "
    "such as 'mean-std + quantize:0.01'; may be repeated.",
)
@click.option(
    "--sweep",
    multiple=True,
    metavar="NAME:LOW..HIGH",
    shell_complete=completion.defences,
    help="A defence with five numbers from LOW to HIGH, in equal ratios, or with those of "
    "NAME:A,B,C; may be repeated.",
)
@click.option(
    "--attack",
    multiple=True,
    shell_complete=completion.plugins("attacks"),
    help="A name from dpaudit list, or an expression such as 'mean & inv_std'; may be repeated.  "
    "[default: those of the run]",
)
@click.option(
    "--estimator",
    help="Scores or errors to epsilon.  [default: that of the run]",
    shell_complete=completion.plugins("estimators"),
)
@click.option("--confidence", type=float, help=f"[default: {Judging.confidence}]")
@click.option("--json", type=Destination(), help="Also write it here, for a machine.")
@click.option("--figure", type=Destination(*FIGURES), help="Also draw it here, as .png or .svg.")
def command(
    run: Path,
    defence: tuple[str, ...],
    sweep: tuple[str, ...],
    attack: tuple[str, ...],
    estimator: str | None,
    confidence: float | None,
    json: Path | None,
    figure: Path | None,
) -> None:
    """Show what defences stop and what they cost.

    RUN is the folder of a finished run; nothing is trained. What its models released is seen
    through each defence, and attacked anew: with and without it the published estimate, the
    certified leak, and what the outputs are still good for.
    """
    from dpaudit import defences
    from dpaudit.audit import Run
    from dpaudit.report import comparison, machine, to_terminal

    refuse_same({"--json": json, "--figure": figure})
    chosen = [*defence, *(one for text in sweep for one in defences.sweep(text))]
    choice = {"attacks": attack, "estimator": estimator, "confidence": confidence}
    progress = Progress("defences", quiet=True)
    try:
        found = Run(run).compared(chosen, progress, **choice)
    finally:
        progress.clear()
    try:
        if json is not None:
            machine.write(comparison.to_dict(found), json)
        if figure is not None:
            _draw(found, figure)
    finally:
        click.echo(to_terminal.write(comparison.document(found)))


def _draw(found: Comparison, path: Path) -> None:
    from dpaudit.report import drawing, figure_methods

    drawing.dump(figure_methods.draw_defences(found), path)
