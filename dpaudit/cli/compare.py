"""`dpaudit compare RUN`: defences side by side, leak and utility."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dpaudit.cli import completion
from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import CONFIDENCE, WRITTEN, option
from dpaudit.cli.output import Progress, deliver_result

DEFENCES = Group(
    "Defences",
    option(
        "--defence NAME:NUMBER  A name of dpaudit list and its number, such as quantize:0.01, or "
        "several in a row, such as 'mean-std + quantize:0.01'; may be repeated.",
        multiple=True,
    ),
    option(
        "--sweep NAME:LOW..HIGH  A defence with five numbers from LOW to HIGH, in equal ratios, "
        "or with those of NAME:A,B,C; may be repeated.",
        multiple=True,
    ),
)
JUDGING = Group(
    "Judging",
    option(
        "--attack NAME  A name of dpaudit list, or an expression such as 'mean & inv_std'; may be "
        "repeated.  [default: those of the run]",
        multiple=True,
    ),
    option("--estimator NAME  Turns scores or errors into a bound.  [default: that of the run]"),
    CONFIDENCE,
)


@click.command("compare", cls=Command, groups=(DEFENCES, JUDGING, WRITTEN))
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
def command(run: Path, defence: list[str], sweep: list[str], **given: Any) -> None:
    """Show what defences stop and what they cost.

    RUN is the folder of a finished run; nothing is trained. Each defence is applied to what its
    models released, and attacked anew: with and without it the published estimate, the certified
    leak, and the utility of the outputs.
    """
    from dpaudit import defences
    from dpaudit.audit import Run
    from dpaudit.report import comparison, figure_methods

    output, attacks = WRITTEN.take(given), given.pop("attack")
    chosen = [*defence, *(one for text in sweep for one in defences.sweep(text))]
    with Progress("defences", brief=True) as progress:
        found = Run(run).compared(chosen, progress, attacks=attacks, **given)
    deliver_result(comparison, found, output, figure_methods.draw_defences)
