"""`dpaudit compare RUN`: defences side by side, leak and utility."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import completion
from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import CONFIDENCE, WRITTEN, option
from dpaudit.cli.output import Progress, deliver, places

if TYPE_CHECKING:
    from dpaudit.report.to_terminal import Detail

DEFENCES = Group(
    "Defences",
    (
        option(
            "--defence",
            multiple=True,
            metavar="NAME:NUMBER",
            shell_complete=completion.defences,
            help="A name of dpaudit list and its number, such as quantize:0.01, or several in a "
            "row, such as 'mean-std + quantize:0.01'; may be repeated.",
        ),
        option(
            "--sweep",
            multiple=True,
            metavar="NAME:LOW..HIGH",
            shell_complete=completion.defences,
            help="A defence with five numbers from LOW to HIGH, in equal ratios, or with those of "
            "NAME:A,B,C; may be repeated.",
        ),
    ),
)
JUDGING = Group(
    "Judging",
    (
        option(
            "--attack",
            multiple=True,
            metavar="NAME",
            shell_complete=completion.plugins("attacks"),
            help="A name of dpaudit list, or an expression such as 'mean & inv_std'; may be "
            "repeated.  [default: those of the run]",
        ),
        option(
            "--estimator",
            metavar="NAME",
            help="Turns scores or errors into a bound.  [default: that of the run]",
            shell_complete=completion.plugins("estimators"),
        ),
        CONFIDENCE,
    ),
)


@click.command("compare", cls=Command, groups=(DEFENCES, JUDGING, WRITTEN))
@click.argument("run", type=click.Path(path_type=Path), shell_complete=completion.runs)
def command(
    run: Path,
    defence: tuple[str, ...],
    sweep: tuple[str, ...],
    attack: tuple[str, ...],
    json: Path | None,
    figure: Path | None,
    detail: Detail | None,
    **choice: Any,
) -> None:
    """Show what defences stop and what they cost.

    RUN is the folder of a finished run; nothing is trained. Each defence is applied to what its
    models released, and attacked anew: with and without it the published estimate, the certified
    leak, and the utility of the outputs.
    """
    from dpaudit import defences
    from dpaudit.audit import Run
    from dpaudit.report import comparison, drawing, figure_methods, machine

    chosen = [*defence, *(one for text in sweep for one in defences.sweep(text))]
    with Progress("defences", brief=True) as progress:
        found = Run(run).compared(chosen, progress, attacks=attack, **choice)
    deliver(
        comparison.document(found, places(json, figure)),
        detail,
        (json, lambda path: machine.write(comparison.to_dict(found), path)),
        (figure, lambda path: drawing.dump(figure_methods.draw_defences(found), path)),
    )
