"""`dpaudit plan`: models, time and ceiling of an audit, before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import Misuse, completion
from dpaudit.cli.command import Command, Group, RenamedOption
from dpaudit.cli.options import (
    ADVERSARY,
    CANARIES,
    CANARY,
    CONFIDENCE,
    GUESSES,
    MACHINE,
    MECHANISM,
    RECORDS,
    WRITTEN,
    curve,
    option,
)
from dpaudit.cli.output import Progress, deliver, places
from dpaudit.cli.settings import configured
from dpaudit.config.adversaries import PER_STEP

if TYPE_CHECKING:
    from dpaudit.report.to_terminal import Detail

REQUEST = ("power", "true_curve", "canaries", "guesses", "fixed_score")
"""Options that a `PlanRequest` has under the same name."""


PLAN = Group(
    "Plan",
    (
        RenamedOption(
            ["--true-epsilon"],
            old="--true",
            type=float,
            metavar="EPS",
            help="The leak to plan for.  [default: twice the claim]",
        ),
        option(
            "--true-curve",
            metavar="gaussian|pure|dpsgd:Q,T",
            shell_complete=completion.true_curves,
            help="Its trade-off curve; pure is randomized response, which shows most.  [default: "
            "the claimed curve, or gaussian]",
        ),
        option(
            "--power",
            type=float,
            default=0.8,
            show_default=True,
            help="The wanted chance of refuting the claim at that leak.",
        ),
        RenamedOption(
            ["--target-bound"],
            old="--reach",
            type=float,
            metavar="EPS",
            help="Also plan the models to certify more than this.",
        ),
        option(
            "--fixed-score", is_flag=True, help="One score, fixed beforehand: all models judge."
        ),
        curve("the mechanism's; none with --claim"),
        CONFIDENCE,
        option("--probe", is_flag=True, help="Train a few models, and tell how long all take."),
    ),
)

GROUPS = (PLAN, RECORDS, CANARY.plus(CANARIES, GUESSES), MECHANISM, ADVERSARY, WRITTEN, MACHINE)


@click.command("plan", cls=Command, groups=GROUPS)
def command(
    true_epsilon: float | None,
    target_bound: float | None,
    probe: bool,
    json: Path | None,
    figure: Path | None,
    detail: Detail | None,
    download: bool,
    workers: int | None,
    file: Path | None,
    **given: Any,
) -> None:
    """Tell what an audit can show before it is run.

    By estimator: the ceiling of this many models, the bound that the best attack would typically
    certify, its chance of refuting the claim, and how many models that takes. Settings are those
    of dpaudit run.

    \b
        dpaudit plan --epsilon 4 --true-epsilon 6 --probe
        dpaudit plan --claim 1 --true-epsilon 3 --true-curve pure
        dpaudit plan --claim 8 --curve gaussian --canaries 1000
    """
    from dpaudit.audit import forecast
    from dpaudit.judging import plan
    from dpaudit.judging.plan_request import PlanRequest
    from dpaudit.report import drawing, figure_methods, machine
    from dpaudit.report import plan as plan_report

    claimed = given.pop("curve")
    wanted = {name: given.pop(name) for name in REQUEST}
    if wanted["canaries"] is not None and (given["models"] is not None or wanted["fixed_score"]):
        other = "--fixed-score" if given["models"] is None else "--models"
        sentence = f"--canaries (one training) and {other} (many trainings) exclude each other"
        raise Misuse(sentence, "excluded-options")
    if given["claim"] is not None and given["epsilon"] is not None:
        raise Misuse("--epsilon and --claim are two claims; give either", "excluded-options")
    config = configured(file, given)
    if config.attacker.adversary == PER_STEP.name:
        sentence = "per-step scores the steps of two trainings (--steps), so there are no models"
        raise Misuse(f"{sentence} to plan; more steps show more", "not-plannable")
    if wanted["canaries"] is None and config.attacker.one_run:
        wanted["canaries"] = config.attacker.canaries
        wanted["guesses"] = wanted["guesses"] or config.attacker.guesses
    with Progress() as progress:
        claim = forecast.claim(config, download)
        wanted["fixed_score"] |= wanted["canaries"] is None and forecast.fixed_score(config)
        question = PlanRequest.of(
            claim,
            **wanted,
            **({} if claimed is None else {"curve": claimed}),
            models=config.volume.models,
            confidence=config.judging.confidence,
            reach=target_bound,
            true=true_epsilon,
            adversary=config.attacker.adversary,
        )
        # The probe first: it refuses what cannot be trained before anything is computed.
        pace = forecast.probe(config, workers, progress.say, download) if probe else None
        progress.say("planning")
        found = replace(plan.plan(question), pace=pace)
    deliver(
        plan_report.document(found, places(json, figure)),
        detail,
        (json, lambda path: machine.write(plan_report.to_dict(found), path)),
        (
            figure,
            lambda path: drawing.dump(
                figure_methods.draw_plan(question, plan.plan_curves(question)), path
            ),
        ),
    )
