"""`dpaudit checkpoint`: an audit of a user's own trained model, from one run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dpaudit.cli import Misuse, completion
from dpaudit.cli.options import FILE, options, pair
from dpaudit.cli.output import DETAIL, Destination, Progress, deliver, places

if TYPE_CHECKING:
    from dpaudit.checkpoint.audit import CheckpointReport
    from dpaudit.checkpoint.candidates import Candidates
    from dpaudit.checkpoint.models import QueryResult, QuerySettings
    from dpaudit.report.to_terminal import Detail

SCORES = ("auto", "loss", "calibrated", "lira", "rmia", "mean", "inv_std", "min", "max")
SAVED = "dpaudit-scores.csv"


class ManyReferences(click.Command):
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


@click.command("checkpoint", cls=ManyReferences)
@click.argument("model", type=FILE, required=False)
@click.option(
    "--network",
    metavar="NAME|MODULE:FUNCTION",
    shell_complete=completion.networks,
    help="Of a .pt, .pth or .safetensors file: a name, or your function that makes it untrained.",
)
@click.option("--kit", type=FILE, help="The folder of dpaudit canaries make that it trained with.")
@click.option("--members", type=FILE, help="Without a kit: a .npz of records it trained on.")
@click.option("--nonmembers", type=FILE, help="And one of records that it did not train on.")
@click.option("--fair-coins", is_flag=True, help="State that a fair coin chose each member.")
@click.option(
    "--predictions",
    type=FILE,
    help="Instead of a model: what it says of each canary, a .csv or .npz of losses, "
    "probabilities or logits.",
)
@click.option(
    "--reference",
    type=FILE,
    multiple=True,
    metavar="FILE...",
    help="Models of the same network, or predictions, that were not trained on the canaries.",
)
@click.option("--claim", metavar="EPS,DELTA", callback=pair, help="What the training claims.")
@click.option(
    "--curve",
    default="",
    metavar="gaussian|none|dpsgd:Q,T",
    shell_complete=completion.curves,
    help="The trade-off curve that it claims; it then decides.  [default: not stated]",
)
@click.option(
    "--delta", type=float, help="Of the bounds, where nothing is claimed.  [default: 1e-5]"
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of each bound.")
@click.option(
    "--guesses",
    type=int,
    metavar="R",
    help="How many canaries are guessed.  [default: the best of all, a half, a quarter and an "
    "eighth, at a price]",
)
@click.option(
    "--score",
    type=click.Choice(SCORES),
    default="auto",
    help="What they are guessed by; another score is another look at the kit.  [default: "
    "calibrated with references, mean with --samples, loss otherwise]",
)
@click.option("--samples", type=int, metavar="T", help="Passes with dropout, if it has any.")
@click.option(
    "--dropout", type=float, default=0.5, show_default=True, help="Its rate, of a named network."
)
@click.option(
    "--outputs",
    type=click.Choice(["logits", "probabilities"]),
    default="logits",
    show_default=True,
    help="What the model gives back.",
)
@click.option(
    "--preprocess",
    metavar="MODULE:FUNCTION",
    help="Your function from a batch of records (float32; of images channels first, bytes divided "
    "by 255) to what the network takes.",
)
@click.option("--classes", type=int, help="Without a kit: how many.  [default: by the labels]")
@click.option("--commitment", metavar="SHA256", help="The kit's, as it was kept elsewhere.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of passes with dropout.")
@click.option(
    "--scores", type=Destination(".csv"), default=SAVED, show_default=True, help="Every score."
)
@click.option("--json", type=Destination(), help="Also write the report here, for a machine.")
@click.option("--fail-on-violation", is_flag=True, help="Exit with 1 if the claim is refuted.")
@options(DETAIL)
def command(
    scores: Path, json: Path | None, fail_on_violation: bool, detail: Detail | None, **given: Any
) -> None:
    """Audit your own trained model.

    MODEL is a checkpoint: .pt, .pth, .safetensors or .onnx. It is scored on the canaries of a kit
    that it was trained with, and the score guesses which of them were in.

    \b
        dpaudit canaries make --data train.npz --out kit     # then train with it
        dpaudit checkpoint model.pt --network my_module:make_net --kit kit --claim 4,1e-5
        dpaudit checkpoint --predictions predictions.csv --kit kit --claim 4,1e-5
        dpaudit checkpoint model.pt --network mlp --members in.npz --nonmembers out.npz
    """
    from dpaudit.files import write_whole
    from dpaudit.report import checkpoint, machine

    _reject_conflicts(given)
    with Progress() as progress:
        found = _audited(given, progress)
    deliver(
        checkpoint.document(found, places(json, scores)),
        detail,
        (scores, lambda path: write_whole(path, checkpoint.score_table(found).encode())),
        (json, lambda path: machine.write(checkpoint.to_dict(found), path)),
    )
    if fail_on_violation and found.verdict == "VIOLATION":
        sys.exit(1)


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
    if given["claim"] is not None and given["delta"] is not None:
        raise Misuse("--claim has a delta already; leave --delta out", "excluded-options")


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

    settings = {n: given[n] for n in ("confidence", "curve", "guesses", "score", "seed")}
    settings |= {} if given["delta"] is None else {"delta": given["delta"]}
    request = CheckpointRequest(given["claim"], **settings)
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
