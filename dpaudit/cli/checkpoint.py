"""`dpaudit checkpoint`: what a trained model of one's own leaks, from one run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpaudit.cli import Misuse, completion
from dpaudit.cli.output import Destination, Progress
from dpaudit.cli.settings import pair

if TYPE_CHECKING:
    from dpaudit.checkpoint.audit import CheckpointReport
    from dpaudit.checkpoint.candidates import Candidates
    from dpaudit.checkpoint.models import Answers, Asking
    from dpaudit.checkpoint.predictions import Outputs

FILE = click.Path(path_type=Path)
SCORES = ("auto", "loss", "calibrated", "lira", "rmia", "mean", "inv_std", "min", "max")
SAVED = "dpaudit-scores.csv"


class ManyReferences(click.Command):
    """--reference a.pt b.pt: every file up to the next option."""

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
    "eighth, which is paid for]",
)
@click.option(
    "--score",
    type=click.Choice(SCORES),
    default="auto",
    help="By what they are guessed; another one is another look at the kit.  [default: calibrated "
    "with references, mean with --samples, loss otherwise]",
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
def command(scores: Path, json: Path | None, fail_on_violation: bool, **given: Any) -> None:
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
    from dpaudit.report import checkpoint, machine, to_terminal

    _refuse(given)
    progress = Progress()
    try:
        found = _audited(given, progress)
    finally:
        progress.clear()
    try:
        write_whole(scores, checkpoint.score_table(found).encode())
        if json is not None:
            machine.write(checkpoint.to_dict(found), json)
    finally:
        color = to_terminal.color_wanted()
        click.echo(to_terminal.write(checkpoint.document(found), color=color))
    click.echo(f"\nEvery score is in {scores}", err=True)
    if fail_on_violation and found.verdict == "VIOLATION":
        sys.exit(1)


def _refuse(given: dict[str, Any]) -> None:
    """Refuse what does not belong together, before anything is read."""
    sides = [given["members"] is not None, given["nonmembers"] is not None]
    if (given["kit"] is not None) == any(sides) or (any(sides) and not all(sides)):
        raise Misuse(
            "give either --kit FOLDER, or --members FILE and --nonmembers FILE",
            "excluded-options" if given["kit"] is not None else "missing-options",
        )
    if (given["model"] is None) == (given["predictions"] is None):
        raise Misuse(
            "give either a checkpoint (MODEL) or --predictions FILE",
            "missing-options" if given["model"] is None else "excluded-options",
        )
    if given["predictions"] is not None:
        if given["kit"] is None:
            raise Misuse(
                "--predictions are on the canaries of a kit (--kit); scores of members and others "
                "are for dpaudit estimate --scores",
                "needs-kit",
            )
        _refuse_idle(("network", "samples", "preprocess", "outputs", "dropout"), "--predictions")
    if ":" in (given["network"] or ""):
        _refuse_idle(("dropout",), "a network of your own, which has its own rate")
    if given["kit"] is not None and (given["fair_coins"] or given["classes"] is not None):
        raise Misuse(
            "--fair-coins and --classes are for --members; a kit knows both", "excluded-options"
        )
    if given["kit"] is None and given["commitment"] is not None:
        raise Misuse("--commitment is that of a kit (--kit)", "needs-kit")
    if given["claim"] is not None and given["delta"] is not None:
        raise Misuse("--claim has a delta already; leave --delta out", "excluded-options")


def _refuse_idle(names: Sequence[str], on: str) -> None:
    """Refuse options that were given and would change nothing."""
    source = click.get_current_context().get_parameter_source
    idle = [f"--{name}" for name in names if source(name) == click.core.ParameterSource.COMMANDLINE]
    if idle:
        verb = "has" if len(idle) == 1 else "have"
        raise Misuse(f"{', '.join(idle)} {verb} no effect on {on}", "no-effect")


def _audited(given: dict[str, Any], progress: Progress) -> CheckpointReport:
    from dpaudit import checks
    from dpaudit.checkpoint import models
    from dpaudit.checkpoint.audit import CheckpointRequest, audit

    settings = {n: given[n] for n in ("confidence", "curve", "guesses", "score", "seed")}
    delta = {} if given["delta"] is None else {"delta": given["delta"]}
    request = CheckpointRequest(given["claim"], **delta, **settings)
    samples, classes = given["samples"], given["classes"]
    checks.refuse(
        [
            None if samples is None else checks.at_least("samples", samples, 2),
            None if classes is None else checks.at_least("classes", classes, 2),
            checks.in_range("dropout", given["dropout"], 0, 1, ends="[)"),
        ]
    )
    candidates = _candidates(given)
    told = {n: given[n] for n in ("network", "outputs", "preprocess", "dropout", "seed")}
    asking = models.Asking(samples=samples or 0, **told)
    progress.say("asking the model")
    if given["predictions"] is not None:
        own = _predicted(given["predictions"], candidates)
    else:
        own = models.ask(given["model"], candidates, asking)
    others = [(str(path), _reference(path, candidates, asking)) for path in given["reference"]]
    progress.say("judging")
    return audit(request, candidates, own.about, own.outputs, others, own.warnings)


def _candidates(given: dict[str, Any]) -> Candidates:
    from dpaudit.checkpoint import candidates, kits

    if given["kit"] is not None:
        return candidates.of_kit(kits.read(given["kit"]), given["commitment"])
    return candidates.of_members(
        given["members"],
        given["nonmembers"],
        given["fair_coins"],
        given["classes"],
        given["seed"],
    )


def _reference(path: Path, candidates: Candidates, asking: Asking) -> Outputs:
    """What a reference model says: predictions by their name, else a checkpoint."""
    from dpaudit.checkpoint import models, predictions

    if predictions.is_file_of(path):
        return _predicted(path, candidates).outputs
    return models.ask(path, candidates, asking).outputs


def _predicted(path: Path, candidates: Candidates) -> Answers:
    from dpaudit.checkpoint import models, predictions

    return models.Answers(predictions.read(path, candidates), f"predictions from {path}", [])
