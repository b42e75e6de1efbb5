"""`dpaudit calibrate`: every bound against mechanisms of known epsilon."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli.options import WRITTEN, options
from dpaudit.cli.output import Progress, deliver, places

if TYPE_CHECKING:
    from dpaudit.report.to_terminal import Detail


@click.command("calibrate")
@click.option(
    "--repetitions", type=int, default=400, show_default=True, help="Audits of each mechanism."
)
@click.option(
    "--trials",
    type=int,
    default=50,
    show_default=True,
    help="Of each world in an audit; quick methods also get 20 times as many.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each bound.")
@click.option("--delta", type=float, default=1e-5, help="Of each bound.  [default: 1e-5]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all that is drawn.")
@click.option("--workers", type=int, help="Worker processes.  [default: one a core]")
@click.option("--full", is_flag=True, help="Every attack, estimator and look; takes hours.")
@options(WRITTEN)
def command(
    workers: int | None,
    json: Path | None,
    figure: Path | None,
    detail: Detail | None,
    **settings: Any,
) -> None:
    """Show how often bounds are wrong.

    Judges scores without a leak and mechanisms of known epsilon: how often each bound is above
    the truth, which at 95 % confidence may be in 5 % of audits, and how much of the truth it
    shows; beside rules of other tools that are no bounds. A bound that looks wrong is measured
    again in fresh audits. Exits with 3, a fault of dpaudit, if a bound does not hold.

    \b
        dpaudit calibrate
        dpaudit calibrate --trials 200 --figure calibration.png
    """
    from dpaudit.calibration.calibrate import calibrate
    from dpaudit.calibration.results import Setting
    from dpaudit.executors import cores
    from dpaudit.report import calibration, drawing, figure_methods, machine

    setting = Setting(**settings)
    with Progress("parts") as progress:
        found = calibrate(setting, cores() if workers is None else workers, progress)
    deliver(
        calibration.document(found, places(json, figure)),
        detail,
        (json, lambda path: machine.write(calibration.to_dict(found), path)),
        (figure, lambda path: drawing.dump(figure_methods.draw_calibration(found), path)),
    )
    if found.held is False:
        sys.exit(3)
