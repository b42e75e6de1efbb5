"""`dpaudit run`: train, attack and report."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from typing import Any

import click

from dpaudit.cli import BadValue, Misuse
from dpaudit.cli.command import Command, Group, RenamedOption
from dpaudit.cli.options import (
    ADVERSARY,
    CANARIES,
    CANARY,
    FILE,
    GUESSES,
    JUDGING,
    MACHINE,
    MECHANISM,
    RECORDS,
    REPORTED,
    option,
)
from dpaudit.cli.output import Progress
from dpaudit.cli.report import SHOWN, show
from dpaudit.cli.settings import configured
from dpaudit.protocols import Mechanism
from dpaudit.types import Backend


def _seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Return a time such as 10m in seconds."""
    if text is None:
        return None
    number = r"(\d{1,6}(?:\.\d+)?)"
    found = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?", text)
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0, 0, 0)
    if not (total := 3600 * hours + 60 * minutes + seconds):
        sentence = f"'{text}' is not a time, such as 90s, 10m or 1h30m"
        raise BadValue(sentence, "no-time", param, ctx)
    return total


UNTIL_DECIDED = option(
    "--until-decided",
    is_flag=True,
    default=None,
    help="Judge after every few models, and stop once the claim is refuted; --models is the most.",
)
TIME_LIMIT = RenamedOption(
    ["--time-limit"],
    old="--budget",
    metavar="TIME",
    callback=_seconds,
    help="With --until-decided: train no more models after this time, such as 90s, 10m or 1h30m.",
)
OUT = option("--out", type=FILE, is_eager=True, help="Folder of the run.  [default: runs/HASH]")
CLUSTER = option("--cluster", metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786.")

GROUPS = (
    RECORDS,
    CANARY.plus(CANARIES, GUESSES),
    MECHANISM,
    ADVERSARY,
    JUDGING.plus(UNTIL_DECIDED, TIME_LIMIT),
    Group("Output", [OUT, *REPORTED.options]),
    MACHINE.plus(CLUSTER),
)


@click.command("run", cls=Command, groups=GROUPS)
def command(
    download: bool,
    workers: int | None,
    cluster: str | None,
    time_limit: float | None,
    out: Path | None,
    file: Path | None,
    **given: Any,
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
    shown = {name: given.pop(name) for name in SHOWN}
    config = configured(file, given)
    if time_limit and not config.volume.until_decided:
        raise Misuse("--time-limit has no effect without --until-decided", "no-effect")
    # SIGTERM, such as a scheduler sends, stops a run as Ctrl-C does: all finished models are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = None
    with Progress() as progress:
        try:
            prepared = audit.prepare(config, progress.say, download, out)
            _name_backend(prepared.mechanism, progress)
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
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # ignore a second one while stopping
            progress.clear()
            sentence = (
                "Stopped while preparing. The same command starts again, with all models that an "
                "earlier start has finished."
            )
            if progress.total:
                kept = f"{progress.done} of {progress.total} {progress.unit} are kept in {folder}"
                sentence = f"Stopped: {kept}; the same command goes on from there."
            click.echo(sentence, err=True)
            sys.exit(130)
    show(run, report, keep=True, **shown)


def _name_backend(mechanism: Mechanism, progress: Progress) -> None:
    """Print the backend if there was a choice, because a slow one should be noticed."""
    if mechanism.backend != Backend():
        progress.note(f"backend {mechanism.backend.name} ({mechanism.backend.reason})")
