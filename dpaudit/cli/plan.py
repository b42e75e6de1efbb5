"""`dpaudit plan`: models, time and ceiling of an audit, before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dpaudit.cli import Misuse, options
from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import option
from dpaudit.cli.output import Progress, deliver_result
from dpaudit.cli.settings import configured
from dpaudit.config.adversaries import PER_STEP

PLAN = Group(
    "Plan",
    option("--true-epsilon EPS  The leak to plan for.  [default: twice the claim]", old="--true"),
    option(
        "--true-curve gaussian|pure|dpsgd:Q,T  Its trade-off curve; pure is randomized response, "
        "which shows most.  [default: the claimed curve, or gaussian]"
    ),
    option("--power FLOAT  The wanted chance of refuting the claim at that leak.", default=0.8),
    option("--target-bound EPS  Also plan the models to certify more than this.", old="--reach"),
    option("--fixed-score  One score, fixed beforehand: all models judge."),
    options.curve("the mechanism's; none with --claim"),
    options.CONFIDENCE,
    option("--probe  Train a few models, and tell how long all take."),
)
REQUEST = ("power", "true_curve", "canaries", "guesses", "fixed_score")
"""Options that a `PlanRequest` has under the same name."""

SETTINGS = (options.RECORDS, options.CANARY, options.MECHANISM, options.ADVERSARY)
GROUPS = (PLAN, *SETTINGS, options.WRITTEN, options.MACHINE)


@click.command("plan", cls=Command, groups=GROUPS)
def command(
    probe: bool, download: bool, workers: int | None, file: Path | None, **given: Any
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
    from dpaudit.report import figure_methods
    from dpaudit.report import plan as plan_report

    output, claimed = options.WRITTEN.take(given), given.pop("curve")
    true, reach = given.pop("true_epsilon"), given.pop("target_bound")
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
            reach=reach,
            true=true,
            adversary=config.attacker.adversary,
        )
        # The probe first: it refuses what cannot be trained before anything is computed.
        pace = forecast.probe(config, workers, progress.say, download) if probe else None
        progress.say("planning")
        found = replace(plan.plan(question), pace=pace)
    deliver_result(
        plan_report,
        found,
        output,
        lambda _: figure_methods.draw_plan(question, plan.plan_curves(question)),
    )
