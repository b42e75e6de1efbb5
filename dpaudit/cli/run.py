"""`dpaudit run`: train, attack and report."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from typing import Any

import click

from dpaudit.cli import BadValue, Misuse
from dpaudit.cli.options import CLAIMED, FILE, JUDGED, REPORTED, TRAINED, options
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


@click.command("run")
@options(TRAINED, JUDGED, CLAIMED)
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
    help="How many of them are guessed, half in, half out.  [default: the share, of a few, that "
    "would typically show most if twice the claim leaked]",
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
@click.option("--out", type=FILE, is_eager=True, help="Folder.  [default: runs/HASH]")
@options(REPORTED)
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
    from dpaudit.report.wording import claim_unit

    if workers and cluster:
        sentence = "--workers are processes here; with --cluster start workers there"
        raise Misuse(sentence, "excluded-options")
    shown = {name: given.pop(name) for name in SHOWN}
    config = configured(file, given)
    if budget and not config.volume.until_decided:
        raise Misuse("--budget has no effect without --until-decided", "no-effect")
    # SIGTERM, such as a scheduler sends, stops a run as Ctrl-C does: all finished models are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = None
    with Progress() as progress:
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
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # ignore a second one while stopping
            progress.clear()
            sentence = "Stopped before the first model; the same command starts again."
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
