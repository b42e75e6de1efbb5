"""`dpaudit plan`: how many models, how long, what ceiling: before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import Misuse, completion
from dpaudit.cli.output import FIGURES, Destination, Progress, refuse_same
from dpaudit.cli.settings import CLAIMED, TRAINED, configured, options
from dpaudit.config.adversaries import PER_STEP
from dpaudit.config.settings import Judging

if TYPE_CHECKING:
    from dpaudit.judging.plan_request import PlanRequest


@click.command("plan")
@click.option("--true", type=float, metavar="EPS", help="What leaks.  [default: twice the claim]")
@click.option(
    "--true-curve",
    metavar="gaussian|pure|dpsgd:Q,T",
    shell_complete=completion.true_curves,
    help="How it leaks; pure: as randomized response, which shows most.  [default: the claimed "
    "curve; gaussian where none is claimed, as most of what adds noise is close to it]",
)
@click.option(
    "--power",
    type=float,
    default=0.8,
    show_default=True,
    help="The chance of refuting the claim, if so much leaks, that is asked for.",
)
@click.option("--reach", type=float, metavar="EPS", help="Also models to show more than this.")
@click.option("--canaries", type=int, metavar="M", help="Many canaries in one training instead.")
@click.option(
    "--guesses",
    type=int,
    metavar="R",
    help="How many of them are guessed.  [default: the share, of a few, that would typically show "
    "most if --true leaked]",
)
@click.option(
    "--curve",
    metavar="gaussian|none|dpsgd:Q,T",
    shell_complete=completion.curves,
    help="The claimed trade-off curve.  [default: the mechanism's; none with --claim]",
)
@click.option("--fixed-score", is_flag=True, help="One score that is fixed: all models judge.")
@click.option("--confidence", type=float, help=f"Of the bounds.  [default: {Judging.confidence}]")
@click.option("--probe", is_flag=True, help="Train a few models to tell how long all take.")
@click.option("--json", type=Destination(), help="Also write it here, for a machine.")
@click.option("--figure", type=Destination(*FIGURES), help="Also draw it here, as .png or .svg.")
@options(TRAINED, CLAIMED)
def command(
    true: float | None,
    true_curve: str | None,
    power: float,
    reach: float | None,
    canaries: int | None,
    guesses: int | None,
    curve: str | None,
    fixed_score: bool,
    probe: bool,
    json: Path | None,
    figure: Path | None,
    download: bool,
    workers: int | None,
    file: Path | None,
    **given: Any,
) -> None:
    """Tell what an audit can show before it is run.

    The ceiling of so many models, what the best attack would typically show with them, its
    chance of refuting the claim, and how many models it takes; by estimator. Settings are those
    of dpaudit run; without any, it plans the default run.

    \b
        dpaudit plan --epsilon 4 --true 6 --probe
        dpaudit plan --claim 1,1e-5 --true 3 --true-curve pure
        dpaudit plan --claim 8,1e-5 --curve gaussian --canaries 1000
    """
    from dpaudit.audit import forecast
    from dpaudit.judging import plan
    from dpaudit.judging.plan_request import PlanRequest
    from dpaudit.report import machine, to_terminal
    from dpaudit.report import plan as plan_report

    if canaries is not None and (given["models"] is not None or fixed_score):
        other = "--fixed-score" if given["models"] is None else "--models"
        raise Misuse(
            f"--canaries is of one training, and {other} of many; give either", "excluded-options"
        )
    if given["claim"] is not None and given["epsilon"] is not None:
        raise Misuse("--epsilon and --claim are two claims; give either", "excluded-options")
    refuse_same({"--json": json, "--figure": figure})
    config = configured(file, given)
    if config.attacker.adversary == PER_STEP.name:
        raise Misuse(
            "per-step scores every step of two trainings, which leaves no number of models to "
            "plan; more steps show more (dpaudit run --adversary per-step --steps N)",
            "not-plannable",
        )
    if canaries is None and config.attacker.one_run:
        canaries, guesses = config.attacker.canaries, guesses or config.attacker.guesses
    progress = Progress()
    try:
        claim = forecast.claim(config, download)
        question = PlanRequest.of(
            claim,
            **({} if curve is None else {"curve": curve}),
            models=config.volume.models,
            canaries=canaries,
            guesses=guesses,
            confidence=config.judging.confidence,
            reach=reach,
            true=true,
            true_curve=true_curve,
            power=power,
            fixed_score=fixed_score or (canaries is None and forecast.fixed_score(config)),
            adversary=config.attacker.adversary,
        )
        # What cannot be trained is refused before anything is computed.
        pace = forecast.probe(config, workers, progress.say, download) if probe else None
        progress.say("planning")
        found = replace(plan.plan(question), pace=pace)
    finally:
        progress.clear()
    try:
        if json is not None:
            machine.write(plan_report.to_dict(found), json)
        if figure is not None:
            _draw(question, figure)
    finally:
        click.echo(to_terminal.write(plan_report.document(found)))


def _draw(question: PlanRequest, path: Path) -> None:
    from dpaudit.judging.plan import courses
    from dpaudit.report import drawing, figure_methods

    drawing.dump(figure_methods.draw_plan(question, courses(question)), path)
