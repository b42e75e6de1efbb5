"""`dpaudit calibrate`: every bound against mechanisms whose epsilon is known."""

from __future__ import annotations

from pathlib import Path

import click

from dpaudit.cli.progress import Progress
from dpaudit.errors import BadInput


@click.command("calibrate")
@click.option(
    "--repetitions", type=int, default=400, show_default=True, help="Audits of each mechanism."
)
@click.option(
    "--trials", type=int, default=50, show_default=True, help="Of each world in an audit."
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each bound.")
@click.option("--delta", type=float, default=1e-5, help="Of each bound.  [default: 1e-5]")
@click.option("--seed", type=int, default=0, show_default=True, help="Of all that is drawn.")
@click.option("--workers", type=int, help="Worker processes.  [default: one a core]")
@click.option(
    "--full", is_flag=True, help="Every attack with every selection and estimator; takes hours."
)
@click.option("--json", type=click.Path(path_type=Path), help="Also write it here, for a machine.")
@click.option("--figure", type=click.Path(path_type=Path), help="Also draw it here, as a PNG.")
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
    much of the truth it shows; beside rules of other tools that are no bounds.

    \b
        dpaudit calibrate
        dpaudit calibrate --trials 200 --figure calibration.png
    """
    from dpaudit.calibration.calibrate import Setting, calibrate
    from dpaudit.executors import cores
    from dpaudit.report import calibration, calibration_json, figure_calibration

    _refuse_nowhere(json, figure)
    setting = Setting(repetitions, trials, confidence, delta, seed, full)
    progress = Progress("parts")
    try:
        found = calibrate(setting, cores() if workers is None else workers, progress)
    finally:
        progress.clear()
    try:
        if json is not None:
            calibration_json.dump(found, json)
        if figure is not None:
            figure_calibration.dump(found, figure)
    finally:
        click.echo(calibration.render(found))


def _refuse_nowhere(*paths: Path | None) -> None:
    """Before minutes of work, not after them."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise BadInput(f"cannot write {path}: there is no folder {path.parent}")
