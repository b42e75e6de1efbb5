"""`dpaudit run`: play the game and report."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from typing import Any

import click

from dpaudit.cli import BadValue, Misuse
from dpaudit.cli.output import Progress
from dpaudit.cli.report import SHOWN, judging_options, refuse_unwritable, show, showing_options
from dpaudit.cli.settings import CLAIMED, TRAINED, configured, options
from dpaudit.protocols import Mechanism
from dpaudit.report.wording import claim_unit
from dpaudit.types import Backend


def _seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """A time such as 10m in seconds."""
    if text is None:
        return None
    number = r"(\d{1,6}(?:\.\d+)?)"
    found = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?", text)
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0, 0, 0)
    if not (total := 3600 * hours + 60 * minutes + seconds):
        said = f"'{text}' is not a time, such as 90s, 10m or 1h30m"
        raise BadValue(said, "no-time", param, ctx)
    return total


@click.command("run")
@options(TRAINED)
@judging_options
@options(CLAIMED)
@click.option(
    "--canaries",
    type=int,
    metavar="M",
    help="One training instead of many, with so many canaries, each put in by a fair coin; with "
    "--adversary white-box.",
)
@click.option(
    "--guesses",
    type=int,
    metavar="R",
    help="How many of them are guessed, half of these in, half out.  [default: the share, "
    "of a few, that would typically show most if twice the claim leaked]",
)
@click.option(
    "--until-decided",
    is_flag=True,
    default=None,
    help="Look at the models after every few, and stop once the claim is refuted; --models is "
    "then the most.",
)
@click.option(
    "--budget",
    metavar="TIME",
    callback=_seconds,
    help="With --until-decided: train no more models after so long, such as 90s, 10m or 1h30m; "
    "counted from the start of the command, its preparations included.",
)
@click.option("--cluster", metavar="ADDRESS", help="A Dask scheduler, such as tcp://host:8786.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder.  [default: runs/HASH]")
@showing_options
def command(
    download: bool,
    workers: int | None,
    cluster: str | None,
    budget: float | None,
    out: Path | None,
    file: Path | None,
    **given: Any,
) -> None:
    """Play the game and report.

    Trains many models with and without a canary, lets attacks tell them apart, and bounds
    epsilon by their errors. The same command goes on where an interrupted one stopped.

    \b
        dpaudit run --adversary worst-case --batch full --epsilon 10

    lets the adversary choose where training starts, too; final-weights also has the trained
    parameters, white-box every update, per-step the single steps of two trainings.

    \b
        dpaudit run --adversary white-box --batch full --canaries 1000

    trains one model with a thousand canaries instead, and guesses which of them it had.
    """
    from dpaudit import audit

    if workers and cluster:
        raise Misuse(
            "--workers are processes here; with --cluster start workers there", "excluded-options"
        )
    shown = {name: given.pop(name) for name in SHOWN}
    refuse_unwritable(shown, out)
    config = configured(file, given)
    if budget and not config.volume.until_decided:
        raise Misuse("--budget has no effect without --until-decided", "no-effect")
    progress = Progress()
    # Whoever ends the run politely, by hand or by a scheduler, finds everything kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = None
    try:
        prepared = audit.prepare(config, progress.say, download, out)
        _name_backend(prepared.mechanism, progress)
        progress.unit = claim_unit(prepared.claim)
        folder = out or prepared.folder
        run = audit.run(
            *(prepared, folder, workers, progress, progress.say, cluster),
            budget=budget,
            tell=progress.evidence,
        )
        progress.say("judging")
        report = run.judge()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second one
        progress.clear()
        kept = f"{progress.done} of {progress.total} {progress.unit} are kept in {folder}"
        click.echo(
            f"Stopped: {kept}; the same command goes on from there."
            if progress.total
            else "Stopped before the first model; the same command starts again.",
            err=True,
        )
        sys.exit(130)
    finally:
        progress.clear()
    show(run, report, keep=True, **shown)


def _name_backend(mechanism: Mechanism, progress: Progress) -> None:
    """One line that stays, where there is a choice: a slower backend than usual should be seen."""
    if mechanism.backend != Backend():
        progress.note(f"backend {mechanism.backend.name} ({mechanism.backend.reason})")
