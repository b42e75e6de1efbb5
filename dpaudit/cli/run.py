"""`dpaudit run`: train, attack and report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from dpaudit.cli import Misuse, options
from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import option, setting
from dpaudit.cli.output import Progress, interruptible
from dpaudit.cli.report import show
from dpaudit.cli.settings import configured
from dpaudit.types import Backend


def seconds(text: str) -> float:
    """Return a time such as 10m in seconds."""
    number = r"(\d{1,6}(?:\.\d+)?)"
    found = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?", text)
    hours, minutes, rest = (float(part or 0) for part in found.groups()) if found else (0, 0, 0)
    if not (total := 3600 * hours + 60 * minutes + rest):
        raise ValueError("there is no time above 0")
    return total


STOPPING = (
    setting(
        "--until-decided  Judge after every few models, and stop once the claim is refuted; "
        "--models is the most."
    ),
    option(
        "--time-limit TIME  With --until-decided: train no more models after this time, such as "
        "90s, 10m or 1h30m.",
        old="--budget",
        type=options.Parsed(seconds, "no-time", "is not a time, such as 90s, 10m or 1h30m"),
    ),
)
OUT = option("--out PATH  Folder of the run.  [default: runs/HASH]", is_eager=True)
CLUSTER = option("--cluster ADDRESS  A Dask scheduler, such as tcp://host:8786.")

GROUPS = (
    *(options.RECORDS, options.CANARY, options.MECHANISM, options.ADVERSARY),
    options.JUDGING.plus(*STOPPING),
    Group("Output", OUT, *options.REPORTED.options),
    options.MACHINE.plus(CLUSTER),
)


@click.command("run", cls=Command, groups=GROUPS)
def command(
    out: Path | None, workers: int | None, cluster: str | None, download: bool, **given: Any
) -> None:
    """Train models, attack them and judge the claim.

    Trains many models with and without a canary. Attacks tell them apart, and their errors give
    lower bounds on epsilon. The same command continues an interrupted run.

    \b
        dpaudit run --epsilon 8 --models 400
        dpaudit run --adversary worst-case --batch full --epsilon 10
        dpaudit run --adversary white-box --batch full --canaries 1000
        dpaudit run --mechanism my_module:train --claim 8
    """
    from dpaudit import audit
    from dpaudit.report.wording import claim_unit

    if workers and cluster:
        sentence = "--workers are processes here; with --cluster start workers there"
        raise Misuse(sentence, "excluded-options")
    output, time_limit = options.REPORTED.take(given), given.pop("time_limit")
    config = configured(given.pop("file"), given)
    if time_limit and not config.volume.until_decided:
        raise Misuse("--time-limit has no effect without --until-decided", "no-effect")
    folder = out

    def stopped() -> str:
        if not progress.total:
            return (
                "Stopped while preparing. The same command starts again, with all models that an "
                "earlier start has finished."
            )
        kept = f"{progress.done} of {progress.total} {progress.unit} are kept in {folder}"
        return f"Stopped: {kept}; the same command goes on from there."

    with Progress() as progress, interruptible(progress, stopped):
        prepared = audit.prepare(config, progress.say, download, out)
        # The backend is shown if there was a choice, because a slow one should be noticed.
        if (backend := prepared.mechanism.backend) != Backend():
            progress.note(f"backend {backend.name} ({backend.reason})")
        if warning := prepared.too_few:
            progress.note(f"Warning: {warning}.")
        progress.unit = claim_unit(prepared.claim)
        folder = out or prepared.folder
        run = audit.run(
            *(prepared, folder, workers, progress, progress.say, cluster),
            budget=time_limit,
            tell=progress.evidence,
        )
        progress.say("judging")
        report = run.judge()
    show(run, report, output, keep=True)
