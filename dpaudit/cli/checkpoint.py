"""`dpaudit checkpoint`: an audit of a user's own trained model, from one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dpaudit.cli import Misuse, completion
from dpaudit.cli.command import Command, Group, RenamedOption
from dpaudit.cli.options import (
    CONFIDENCE,
    DELTA,
    DETAIL,
    FAIL_ON_VIOLATION,
    FAIL_ON_WEAK,
    FILE,
    SEED,
    claim,
    claim_with_delta,
    curve,
    given_only,
    option,
)
from dpaudit.cli.output import Destination, Progress, deliver, places, stop_if

if TYPE_CHECKING:
    from dpaudit.checkpoint.audit import CheckpointReport
    from dpaudit.checkpoint.candidates import Candidates
    from dpaudit.checkpoint.models import QueryResult, QuerySettings
    from dpaudit.report.to_terminal import Detail

SCORES = ("auto", "loss", "calibrated", "lira", "rmia", "mean", "inv_std", "min", "max")
SAVED = "dpaudit-scores.csv"


class ManyReferences(Command):
    """A command whose --reference takes every file up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        listing = False
        for word in args:
            if listing and not word.startswith("-") and spread[-1] != "--reference":
                spread.append("--reference")
            listing = word == "--reference" or (listing and not word.startswith("-"))
            spread.append(word)
        return super().parse_args(ctx, spread)


MODEL = Group(
    "Model",
    (
        option(
            "--network",
            metavar="NAME|MODULE:FUNCTION",
            shell_complete=completion.networks,
            help="Network of a .pt, .pth or .safetensors file: a name of dpaudit list, or your "
            "function that makes it untrained.",
        ),
        option(
            "--predictions",
            type=FILE,
            help="Instead of a model: its outputs on each canary, a .csv or .npz of losses, "
            "probabilities or logits.",
        ),
        option("--samples", type=int, metavar="T", help="Queries with MC dropout."),
        option(
            "--dropout",
            type=float,
            default=0.5,
            show_default=True,
            help="Dropout rate of a named network.",
        ),
        option(
            "--outputs",
            type=click.Choice(["logits", "probabilities"]),
            default="logits",
            show_default=True,
            help="Output of the model.",
        ),
        option(
            "--preprocess",
            metavar="MODULE:FUNCTION",
            help="Your function from a batch of records (float32; of images channels first, bytes "
            "divided by 255) to what the network takes.",
        ),
    ),
)
CANARIES = Group(
    "Canaries",
    (
        option("--kit", type=FILE, help="The kit (dpaudit canaries make) that it trained with."),
        option("--commitment", metavar="SHA256", help="The kit's commitment, as you kept it."),
        option("--members", type=FILE, help="Without a kit: a .npz of records it trained on."),
        option("--nonmembers", type=FILE, help="And a .npz of records it did not train on."),
        option("--fair-coins", is_flag=True, help="State that a fair coin chose each member."),
        option("--classes", type=int, help="Number of classes.  [default: by the labels]"),
    ),
)
JUDGING = Group(
    "Claim and judging",
    (
        claim("What the training claims."),
        curve("not stated"),
        DELTA,
        CONFIDENCE,
        option(
            "--score",
            type=click.Choice(SCORES),
            default="auto",
            help="Score of a canary; another score is another look.  [default: calibrated with "
            "--reference, mean with --samples, else loss]",
        ),
        option(
            "--reference",
            type=FILE,
            multiple=True,
            metavar="FILE...",
            help="Models of the same network, or predictions, not trained on the canaries.",
        ),
        option(
            "--guesses",
            type=int,
            metavar="R",
            help="How many of the canaries are guessed.  [default: the best of all, a half, a "
            "quarter and an eighth, at a price]",
        ),
    ),
)
OUTPUT = Group(
    "Output",
    (
        RenamedOption(
            ["--write-scores"],
            old="--scores",
            type=Destination(".csv"),
            default=SAVED,
            show_default=True,
            help="Every score.",
        ),
        *DETAIL,
        option("--json", type=Destination(), help="Also write the report as JSON."),
        FAIL_ON_VIOLATION,
        FAIL_ON_WEAK,
    ),
)
GROUPS = (MODEL, CANARIES, JUDGING, OUTPUT, Group("Machine", [SEED]))


@click.command("checkpoint", cls=ManyReferences, groups=GROUPS)
@click.argument("model", type=FILE, required=False)
def command(
    write_scores: Path,
    json: Path | None,
    fail_on_violation: bool,
    fail_on_weak: bool,
    detail: Detail | None,
    **given: Any,
) -> None:
    """Audit your own trained model.

    MODEL is a checkpoint: .pt, .pth, .safetensors or .onnx. It is scored on the canaries of a kit
    that it was trained with, and the score guesses which of them were in.

    \b
        dpaudit canaries make --data train.npz --out kit     # then train with it
        dpaudit checkpoint model.pt --network my_module:make_net --kit kit --claim 4
        dpaudit checkpoint --predictions predictions.csv --kit kit --claim 4
        dpaudit checkpoint model.pt --network mlp --members in.npz --nonmembers out.npz
    """
    from dpaudit.files import write_whole
    from dpaudit.report import checkpoint, machine

    _reject_conflicts(given)
    with Progress() as progress:
        found = _audited(given, progress)
    deliver(
        checkpoint.document(found, places(json, write_scores)),
        detail,
        (write_scores, lambda path: write_whole(path, checkpoint.score_table(found).encode())),
        (json, lambda path: machine.write(checkpoint.to_dict(found), path)),
    )
    stop_if(found, fail_on_violation, fail_on_weak)


def _reject_conflicts(given: dict[str, Any]) -> None:
    """Reject options that exclude or need each other, before anything is read."""
    kit, members, others = (given[n] is not None for n in ("kit", "members", "nonmembers"))
    if kit == (members or others) or members != others:
        sentence = "give either --kit FOLDER, or --members FILE and --nonmembers FILE"
        raise Misuse(sentence, "excluded-options" if kit else "missing-options")
    model, predictions = (given[n] is not None for n in ("model", "predictions"))
    if model == predictions:
        sentence = "give either a checkpoint (MODEL) or --predictions FILE"
        raise Misuse(sentence, "excluded-options" if model else "missing-options")
    if predictions and not kit:
        sentence = (
            "--predictions are on the canaries of a kit (--kit); scores of members and others"
        )
        raise Misuse(f"{sentence} are for dpaudit estimate --scores", "needs-kit")
    if predictions:
        names = ("network", "samples", "preprocess", "outputs", "dropout")
        _reject_without_effect(names, "--predictions")
    if ":" in (given["network"] or ""):
        _reject_without_effect(("dropout",), "a network of your own, which has its own rate")
    if kit and (given["fair_coins"] or given["classes"] is not None):
        sentence = "--fair-coins and --classes are for --members; a kit has both"
        raise Misuse(sentence, "excluded-options")
    if not kit and given["commitment"] is not None:
        raise Misuse("--commitment is that of a kit (--kit)", "needs-kit")


def _reject_without_effect(names: Sequence[str], on: str) -> None:
    """Reject options that were given and have no effect."""
    source = click.get_current_context().get_parameter_source
    given = [f"--{name}" for name in names if source(name) == ParameterSource.COMMANDLINE]
    if given:
        verb = "has" if len(given) == 1 else "have"
        raise Misuse(f"{', '.join(given)} {verb} no effect on {on}", "no-effect")


def _audited(given: dict[str, Any], progress: Progress) -> CheckpointReport:
    from dpaudit import checks
    from dpaudit.checkpoint import candidates, kits, models, predictions
    from dpaudit.checkpoint.audit import CheckpointRequest, audit

    claimed = given["claim"] and claim_with_delta(given["claim"], given["delta"])
    names = ("delta", "confidence", "curve", "guesses", "score", "seed")
    request = CheckpointRequest(claimed, **given_only({name: given[name] for name in names}))
    samples, classes = given["samples"], given["classes"]
    checks.refuse(
        [
            None if samples is None else checks.at_least("samples", samples, 2),
            None if classes is None else checks.at_least("classes", classes, 2),
            checks.in_range("dropout", given["dropout"], 0, 1, ends="[)"),
        ]
    )
    if given["kit"] is not None:
        chosen = candidates.of_kit(kits.read(given["kit"]), given["commitment"])
    else:
        sources = ("members", "nonmembers", "fair_coins", "classes", "seed")
        chosen = candidates.of_members(*(given[name] for name in sources))
    options = {n: given[n] for n in ("network", "outputs", "preprocess", "dropout", "seed")}
    asking = models.QuerySettings(samples=samples or 0, **options)
    progress.say("asking the model")
    path = given["model"] or given["predictions"]
    own = _answers(path, given["model"] is None, chosen, asking)
    others = [
        (str(path), _answers(path, predictions.is_file_of(path), chosen, asking).outputs)
        for path in given["reference"]
    ]
    progress.say("judging")
    return audit(request, chosen, own.about, own.outputs, others, own.warnings)


def _answers(path: Path, predicted: bool, chosen: Candidates, asking: QuerySettings) -> QueryResult:
    """Return the outputs on the candidates, of a file of predictions or of a model."""
    from dpaudit.checkpoint import models, predictions

    if predicted:
        return models.QueryResult(predictions.read(path, chosen), f"predictions from {path}", [])
    return models.query(path, chosen, asking)
