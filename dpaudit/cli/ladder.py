"""`dpaudit ladder`: one claim against every adversary that fits it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import (
    ADVERSARY,
    CANARY,
    CONFIDENCE,
    FILE,
    MACHINE,
    MECHANISM,
    RECORDS,
    REPORTED,
    option,
)
from dpaudit.cli.output import Progress, deliver, places
from dpaudit.cli.settings import ladder_settings
from dpaudit.config.settings import Judging
from dpaudit.types import Claim

if TYPE_CHECKING:
    from dpaudit.report.to_terminal import Detail

OUT = option("--out", type=FILE, is_eager=True, help="Folder.  [default: runs/ladder-HASH]")
GROUPS = (
    RECORDS,
    CANARY,
    MECHANISM,
    ADVERSARY.without("adversary"),
    Group("Judging", [CONFIDENCE]),
    Group("Output", [OUT, *REPORTED.without("sarif", "junit").options]),
    MACHINE.without("file"),
)


@click.command("ladder", cls=Command, groups=GROUPS)
def command(
    download: bool,
    workers: int | None,
    confidence: float | None,
    out: Path | None,
    json: Path | None,
    html: Path | None,
    no_canary_image: bool,
    fail_on_violation: bool,
    fail_on_weak: bool,
    detail: Detail | None,
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
    sure = Judging.confidence if confidence is None else confidence
    settings, begun, folder = ladder_settings(given), list[str](), None
    with Progress() as progress:

        def begin(name: str, claim: Claim) -> None:
            begun.append(name)
            progress.restart(claim_unit(claim))
            progress.note(f"{name} ({len(begun)} of {len(prepared.configs)})")

        try:
            prepared = prepare_ladder(settings, sure, progress.say, download)
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
        shown.document(found, places(html or folder / "report.html", json)),
        detail,
        (folder, lambda path: shown.write_folder(found, path)),
        (json, lambda path: shown.dump(found, path)),
        (html, lambda path: shown.dump_html(found, path)),
    )
    weak = fail_on_weak and found.strength == "weak"
    if weak or (fail_on_violation and found.verdict == "VIOLATION"):
        sys.exit(1)
