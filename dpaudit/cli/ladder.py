"""`dpaudit ladder`: one claim against every adversary that fits it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import click

from dpaudit.cli.options import CLAIMED, FILE, REPORTED, TRAINED, options
from dpaudit.cli.output import Progress, deliver
from dpaudit.cli.settings import ladder_settings
from dpaudit.config.settings import Judging
from dpaudit.report.to_terminal import color_wanted
from dpaudit.types import Claim

NOT_TAKEN = ("adversary", "file", "sarif", "junit")
"""Options of `run` that are about one adversary, or one report."""


@click.command("ladder")
@options(TRAINED, CLAIMED, without=NOT_TAKEN)
@click.option(
    "--confidence",
    type=float,
    default=Judging.confidence,
    help=f"Of all deciding bounds together.  [default: {Judging.confidence}]",
)
@click.option("--out", type=FILE, is_eager=True, help="Folder.  [default: runs/ladder-HASH]")
@options(REPORTED, without=NOT_TAKEN)
def command(
    download: bool,
    workers: int | None,
    confidence: float,
    out: Path | None,
    json: Path | None,
    html: Path | None,
    no_canary_image: bool,
    fail_on_violation: bool,
    **given: Any,
) -> None:
    """Test one claim against every adversary that fits.

    Runs six audits of the same claim: an outsider, three adversaries who choose where training
    starts, single steps of two trainings, and one training with many canaries. Options hold for
    all of them, but --canary, --clip-canary and --samples for the outsider alone. Without options
    each has the training that shows most. The same command goes on where an interrupted one
    stopped.

    \b
        dpaudit ladder --epsilon 8
    """
    from dpaudit.audit.ladder import prepare_ladder, run_ladder
    from dpaudit.report import ladder as shown
    from dpaudit.report.wording import claim_unit

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    settings, begun, folder = ladder_settings(given), list[str](), None
    with Progress() as progress:

        def begin(name: str, claim: Claim) -> None:
            begun.append(name)
            progress.restart(claim_unit(claim))
            progress.note(f"{name} ({len(begun)} of {len(prepared.configs)})")

        try:
            prepared = prepare_ladder(settings, confidence, progress.say, download)
            folder = out or prepared.folder
            image = not no_canary_image
            found = run_ladder(prepared, folder, workers, begin, progress, progress.say, image)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # ignore a second one while stopping
            progress.clear()
            sentence = "Stopped before the first model; the same command starts again."
            if begun:
                at = f"{progress.done} {progress.unit} of {begun[-1]}"
                kept = ", ".join([*begun[:-1], at])
                sentence = f"Stopped: {kept} are kept in {folder}; the same command goes on there."
            click.echo(sentence, err=True)
            sys.exit(130)
    deliver(
        shown.render(found, color=color_wanted()),
        (folder, lambda path: shown.write_folder(found, path)),
        (json, lambda path: shown.dump(found, path)),
        (html, lambda path: shown.dump_html(found, path)),
    )
    click.echo(f"\nEverything is in {folder}; open {folder / 'report.html'}", err=True)
    if fail_on_violation and found.verdict == "VIOLATION":
        sys.exit(1)
