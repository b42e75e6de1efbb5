"""`dpaudit ladder`: one claim against every adversary that fits it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import options
from dpaudit.cli.command import Command, Group
from dpaudit.cli.output import Progress, deliver, interruptible, places, stop_if
from dpaudit.cli.settings import ladder_settings
from dpaudit.config.settings import Judging

REPORTED = options.REPORTED.without("sarif", "junit")
if TYPE_CHECKING:
    from dpaudit.audit.preparation import PreparedAudit

OUT = options.option("--out PATH  Folder.  [default: runs/ladder-HASH]", is_eager=True)
GROUPS = (
    options.RECORDS,
    options.CANARY.without("canaries", "guesses"),
    options.MECHANISM,
    options.ADVERSARY.without("adversary"),
    Group("Judging", options.CONFIDENCE),
    Group("Output", OUT, *REPORTED.options),
    options.MACHINE.without("file"),
)


@click.command("ladder", cls=Command, groups=GROUPS)
def command(
    out: Path | None, workers: int | None, download: bool, confidence: float | None, **given: Any
) -> None:
    """Test one claim against every adversary that fits.

    Runs six audits of the same claim: an outsider, three adversaries who choose where training
    starts, single steps of two trainings, and one training with many canaries. Of the options,
    --canary, --clip-canary and --samples hold for the outsider alone, the others for all. Without
    options each has the training that shows most. The same command goes on where an interrupted
    one stopped.

    \b
        dpaudit ladder --epsilon 8
    """
    from dpaudit.audit.ladder import prepare_ladder, run_ladder
    from dpaudit.report import ladder as shown
    from dpaudit.report.wording import claim_unit

    output = REPORTED.take(given)
    settings, begun, folder = ladder_settings(given), list[str](), out

    def begin(name: str, audit: PreparedAudit) -> None:
        begun.append(name)
        progress.restart(claim_unit(audit.claim))
        progress.note(f"{name} ({len(begun)} of {len(prepared.configs)})")
        if audit.too_few:
            progress.note(f"Warning: {audit.too_few}")

    def stopped() -> str:
        if not begun:
            return "Stopped before the first model; the same command starts again."
        kept = ", ".join([*begun[:-1], f"{progress.done} {progress.unit} of {begun[-1]}"])
        return f"Stopped: {kept} are kept in {folder}; the same command goes on there."

    with Progress() as progress, interruptible(progress, stopped):
        sure = Judging.confidence if confidence is None else confidence
        prepared = prepare_ladder(settings, sure, progress.say, download)
        folder, image = out or prepared.folder, not output["no_canary_image"]
        found = run_ladder(prepared, folder, workers, begin, progress, progress.say, image)
    json, html = output["json"], output["html"]
    deliver(
        shown.document(found, places(html or folder / "report.html", json)),
        output["detail"],
        (folder, lambda path: shown.write_folder(found, path)),
        (json, lambda path: shown.dump(found, path)),
        (html, lambda path: shown.dump_html(found, path)),
    )
    stop_if(found, output)
