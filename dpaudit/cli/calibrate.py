"""`dpaudit calibrate`: every bound against mechanisms whose epsilon is known."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dpaudit.cli.output import FIGURES, Destination, Progress, refuse_same


@click.command("calibrate")
@click.option(
    "--repetitions", type=int, default=400, show_default=True, help="Audits of each mechanism."
)
@click.option(
    "--trials",
    type=int,
    default=50,
    show_default=True,
    help="Of each world in an audit; what is quick is also asked with 20 times as many.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each bound.")
@click.option("--delta", type=float, default=1e-5, help="Of each bound.  [default: 1e-5]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all that is drawn.")
@click.option("--workers", type=int, help="Worker processes.  [default: one a core]")
@click.option("--full", is_flag=True, help="Every attack, estimator and look; takes hours.")
@click.option("--json", type=Destination(), help="Also write it here, for a machine.")
@click.option("--figure", type=Destination(*FIGURES), help="Also draw it here, as .png or .svg.")
def command(
    repetitions: int,
    trials: int,
    confidence: float,
    delta: float,
    seed: int,
    workers: int | None,
    full: bool,
    json: Path | None,
    figure: Path | None,
) -> None:
    """Show how often bounds are wrong.

    The judging pipeline on scores with no leak and on mechanisms of known epsilon: how often
    each bound is above the truth, which at 95 % confidence may be in 5 % of audits, and how
    much of the truth it shows; beside rules of other tools that are no bounds. A bound that
    looks wrong is measured again, in fresh audits, before it is said to be. Exits with 3, a
    fault of dpaudit, if a bound does not hold.

    \b
        dpaudit calibrate
        dpaudit calibrate --trials 200 --figure calibration.png
    """
    from dpaudit.calibration.calibrate import calibrate
    from dpaudit.calibration.results import Setting
    from dpaudit.executors import cores
    from dpaudit.report import calibration, drawing, figure_methods, machine, to_terminal

    refuse_same({"--json": json, "--figure": figure})
    setting = Setting(repetitions, trials, confidence, delta, seed, full)
    progress = Progress("parts")
    try:
        found = calibrate(setting, cores() if workers is None else workers, progress)
    finally:
        progress.clear()
    try:
        if json is not None:
            machine.write(calibration.to_dict(found), json)
        if figure is not None:
            drawing.dump(figure_methods.draw_calibration(found), figure)
    finally:
        click.echo(to_terminal.write(calibration.document(found)))
    if found.held is False:
        sys.exit(3)
