"""`dpaudit checkpoint`: an audit of a user's own trained model, from one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import Misuse, options
from dpaudit.cli.command import Command, Group
from dpaudit.cli.options import claim_with_delta, given_only, option, setting
from dpaudit.cli.output import Destination, Progress, deliver, places, stop_if
from dpaudit.cli.settings import reject_without_effect

if TYPE_CHECKING:
    from dpaudit.checkpoint.audit import CheckpointReport
    from dpaudit.checkpoint.candidates import Candidates
    from dpaudit.checkpoint.models import QueryResult, QuerySettings


class ManyReferences(Command):
    """A command whose --reference takes every file up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        listing = False
        for word in args:
            if word.startswith("-"):
                listing = word == "--reference"
            elif listing and spread[-1] != "--reference":
                spread.append("--reference")
            spread.append(word)
        return super().parse_args(ctx, spread)


MODEL = Group(
    "Model",
    option(
        "--network NAME|MODULE:FUNCTION  Network of a .pt, .pth or .safetensors file: a name of "
        "dpaudit list, or your function that makes it untrained."
    ),
    option(
        "--predictions PATH  Instead of a model: its outputs on each canary, a .csv or .npz of "
        "losses, probabilities or logits."
    ),
    option("--samples T  Queries with MC dropout."),
    setting("--dropout FLOAT  Dropout rate of a named network."),
    setting("--outputs [logits|probabilities]  Output of the model."),
    option(
        "--preprocess MODULE:FUNCTION  Your function from a batch of records (float32; of images "
        "channels first, bytes divided by 255) to what the network takes."
    ),
)
CANARIES = Group(
    "Canaries",
    option("--kit PATH  The kit (dpaudit canaries make) that it trained with."),
    option("--commitment SHA256  The kit's commitment, as you kept it."),
    option("--members PATH  Without a kit: a .npz of records it trained on."),
    option("--nonmembers PATH  And a .npz of records it did not train on."),
    option("--fair-coins  State that a fair coin chose each member.", default=None),
    option("--classes INTEGER  Number of classes.  [default: by the labels]"),
)
JUDGING = Group(
    "Claim and judging",
    option("--claim EPS[,DELTA]  What the training claims."),
    options.curve("not stated"),
    options.DELTA,
    options.CONFIDENCE,
    option(
        "--score [auto|loss|calibrated|lira|rmia|mean|inv_std|min|max]  Score of a canary; another "
        "score is another look.  [default: calibrated with --reference, mean with --samples, else "
        "loss]"
    ),
    option(
        "--reference FILE...  Models of the same network, or predictions, not trained on the "
        "canaries.",
        multiple=True,
    ),
    option(
        "--guesses R  How many of the canaries are guessed.  [default: the best of all, a half, a "
        "quarter and an eighth, at a price]"
    ),
)
OUTPUT = Group(
    "Output",
    option(
        "--write-scores PATH  Every score.",
        old="--scores",
        type=Destination(".csv"),
        default="dpaudit-scores.csv",
    ),
    *options.DETAIL,
    option("--json PATH  Also write the report as JSON.", type=Destination()),
    *options.GATES,
)
GROUPS = (MODEL, CANARIES, JUDGING, OUTPUT, Group("Machine", options.SEED))


@click.command("checkpoint", cls=ManyReferences, groups=GROUPS)
@click.argument("model", type=options.FILE, required=False)
def command(json: Path | None, write_scores: Path, **every: Any) -> None:
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

    given = given_only(every)
    _reject_conflicts(given)
    with Progress() as progress:
        found = _audited(given, progress)
    deliver(
        checkpoint.document(found, places(json, write_scores)),
        every["detail"],
        (write_scores, lambda path: write_whole(path, checkpoint.score_table(found).encode())),
        (json, lambda path: machine.write(checkpoint.to_dict(found), path)),
    )
    stop_if(found, every)


def _reject_conflicts(given: Mapping[str, Any]) -> None:
    """Reject options that exclude or need each other, before anything is read."""
    kit, members, others = (name in given for name in ("kit", "members", "nonmembers"))
    if kit == (members or others) or members != others:
        sentence = "give either --kit FOLDER, or --members FILE and --nonmembers FILE"
        raise Misuse(sentence, "excluded-options" if kit else "missing-options")
    if ("model" in given) == ("predictions" in given):
        sentence = "give either a checkpoint (MODEL) or --predictions FILE"
        raise Misuse(sentence, "excluded-options" if "model" in given else "missing-options")
    if "predictions" in given and not kit:
        sentence = (
            "--predictions are on the canaries of a kit (--kit); scores of members and others"
        )
        raise Misuse(f"{sentence} are for dpaudit estimate --scores", "needs-kit")
    if "predictions" in given:
        names = ("network", "samples", "preprocess", "outputs", "dropout")
        reject_without_effect([name for name in names if name in given], "--predictions")
    if ":" in given.get("network", "") and "dropout" in given:
        reject_without_effect(["dropout"], "a network of your own, which has its own rate")
    if kit and ("fair_coins" in given or "classes" in given):
        sentence = "--fair-coins and --classes are for --members; a kit has both"
        raise Misuse(sentence, "excluded-options")
    if not kit and "commitment" in given:
        raise Misuse("--commitment is that of a kit (--kit)", "needs-kit")


def _audited(given: dict[str, Any], progress: Progress) -> CheckpointReport:
    from dpaudit import checks
    from dpaudit.checkpoint import candidates, kits, models, predictions
    from dpaudit.checkpoint.audit import CheckpointRequest, audit

    claimed = claim_with_delta(given["claim"], given.get("delta")) if "claim" in given else None
    seed, judging = given["seed"], JUDGING.without("claim", "reference").take(given)
    request = CheckpointRequest(claimed, **judging, seed=seed)
    checks.refuse(
        [
            checks.at_least("samples", given.get("samples", 2), 2),
            checks.at_least("classes", given.get("classes", 2), 2),
            checks.in_range("dropout", given.get("dropout", 0), 0, 1, ends="[)"),
        ]
    )
    if "kit" in given:
        chosen = candidates.of_kit(kits.read(given["kit"]), given.get("commitment"))
    else:
        members, others, stated = given["members"], given["nonmembers"], "fair_coins" in given
        chosen = candidates.of_members(members, others, stated, given.get("classes"), seed)
    asking = models.QuerySettings(**MODEL.without("predictions").take(given), seed=seed)
    progress.say("asking the model")
    path = given.get("model") or given["predictions"]
    own = _answers(path, "model" not in given, chosen, asking)
    others = [
        (str(path), _answers(path, predictions.is_file_of(path), chosen, asking).outputs)
        for path in given.get("reference", ())
    ]
    progress.say("judging")
    return audit(request, chosen, own.about, own.outputs, others, own.warnings)


def _answers(path: Path, predicted: bool, chosen: Candidates, asking: QuerySettings) -> QueryResult:
    """Return the outputs on the candidates, of a file of predictions or of a model."""
    from dpaudit.checkpoint import models, predictions

    if predicted:
        return models.QueryResult(predictions.read(path, chosen), f"predictions from {path}", [])
    return models.query(path, chosen, asking)
