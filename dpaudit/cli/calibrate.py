"""`dpaudit calibrate`: every bound against mechanisms of known epsilon."""

from __future__ import annotations

import sys
from typing import Any

import click

from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import CONFIDENCE, DELTA, SEED, WORKERS, WRITTEN, given_only, option
from dpaudit.cli.output import Progress, deliver_result

CALIBRATION = Group(
    "Calibration",
    option("--repetitions INTEGER  Audits of each mechanism.", default=400),
    option(
        "--trials INTEGER  Trials of each world in an audit; quick methods also get 20 times as "
        "many.",
        default=50,
    ),
    CONFIDENCE,
    DELTA,
    option("--full  Every attack, estimator and look; takes hours."),
)
MACHINE = Group("Machine", SEED, WORKERS)


@click.command("calibrate", cls=Command, groups=(CALIBRATION, WRITTEN, MACHINE))
def command(workers: int | None, **settings: Any) -> None:
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
    from dpaudit.report import calibration, figure_methods

    output = WRITTEN.take(settings)
    setting = Setting(**given_only(settings))
    with Progress("parts") as progress:
        found = calibrate(setting, cores() if workers is None else workers, progress)
    deliver_result(calibration, found, output, figure_methods.draw_calibration)
    if found.held is False:
        sys.exit(3)
