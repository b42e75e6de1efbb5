"""`dpaudit calibrate`: every bound against mechanisms of known epsilon."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import CONFIDENCE, DELTA, SEED, WORKERS, WRITTEN, given_only, option
from dpaudit.cli.output import Progress, deliver, places

if TYPE_CHECKING:
    from dpaudit.report.to_terminal import Detail

CALIBRATION = Group(
    "Calibration",
    (
        option(
            "--repetitions",
            type=int,
            default=400,
            show_default=True,
            help="Audits of each mechanism.",
        ),
        option(
            "--trials",
            type=int,
            default=50,
            show_default=True,
            help="Trials of each world in an audit; quick methods also get 20 times as many.",
        ),
        CONFIDENCE,
        DELTA,
        option("--full", is_flag=True, help="Every attack, estimator and look; takes hours."),
    ),
)
MACHINE = Group("Machine", [SEED, WORKERS])


@click.command("calibrate", cls=Command, groups=(CALIBRATION, WRITTEN, MACHINE))
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

    setting = Setting(**given_only(settings))
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
