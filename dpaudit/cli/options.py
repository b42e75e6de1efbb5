"""Options that several commands share, in the groups in which help shows them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from dpaudit.accounting import NUMERICAL
from dpaudit.checks import MOST
from dpaudit.cli import BadValue, Misuse, completion
from dpaudit.cli.output import FIGURES, Destination
from dpaudit.config import DEFAULT
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.config.settings import BACKENDS, Judging

F = TypeVar("F", bound=Callable[..., Any])

Group: TypeAlias = Sequence[Callable[[Any], Any]]
"""Options in the order in which help shows them."""

FILE = click.Path(path_type=Path)


def options(*groups: Group, without: Collection[str] = ()) -> Callable[[F], F]:
    """Give a command the options of these groups, but for some."""

    def decorate(command: Any) -> Any:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        given: list[click.Parameter] = command.__click_params__
        given[:] = [option for option in given if option.name not in without]
        return command

    return decorate


class RenamedOption(click.Option):
    """An option that also takes its `old` spelling, with a notice on standard error.

    Help and completion show the new one only.
    """

    def __init__(self, *args: Any, old: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.old = old

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        super().add_to_parser(parser, ctx)
        parser.add_option(self, [self.old], dest=self.old, nargs=self.nargs)

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        given = dict(opts)
        if self.old in given:
            if self.name in given:
                sentence = f"{self.old} is the old name of {self.opts[0]}; give only {self.opts[0]}"
                raise Misuse(sentence, "excluded-options")
            given[str(self.name)] = given.pop(self.old)
            if not ctx.resilient_parsing:
                notice = f"{self.old} is now {self.opts[0]}; the old name will be removed"
                click.echo(f"Notice: {notice}", err=True)
        return super().consume_value(ctx, given)


def renamed(flag: str, old: str, kind: Any, metavar: str, text: str) -> Callable[[F], F]:
    """Return an option that also takes its old spelling."""
    return click.option(flag, cls=RenamedOption, old=old, type=kind, metavar=metavar, help=text)


def pair(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Return EPS,DELTA as two numbers."""
    if text is None:
        return None
    try:
        epsilon, delta = map(float, text.split(","))
    except ValueError:
        sentence = f"'{text}' is not EPS,DELTA, such as 8,1e-5"
        raise BadValue(sentence, "no-pair", param, ctx) from None
    return epsilon, delta


def _batch(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Return a number of records, or 'full'."""
    if text is None or text == "full":
        return text
    try:
        return int(text)
    except ValueError:
        sentence = f"'{text}' is neither a number of records nor full"
        raise BadValue(sentence, "no-number", param, ctx) from None


COMPLETE: Mapping[str, completion.Completer] = {
    "data": completion.plugins("data", files=True),
    "canary": completion.plugins("canaries"),
    "mechanism": completion.plugins("mechanisms", files=True),
    "network": completion.networks,
}


def setting(flag: str, kind: Any, text: str, **more: Any) -> Callable[[F], F]:
    """Return the option of a setting of the run; left out, the configuration's value holds."""
    name = flag.split("/")[0].lstrip("-").replace("-", "_")
    value = DEFAULT[name]
    shown = "" if value in (None, (), True, False) else f"  [default: {value}]"
    more |= {"multiple": value == (), "shell_complete": COMPLETE.get(name)}
    return click.option(flag, type=kind, default=None, help=text + shown, **more)


DATA: Group = (
    setting(
        "--data", str, "A name from dpaudit list, a .npz, a .csv, or a folder of images by class."
    ),
    setting("--data-root", str, "Where cifar10, mnist and fashion-mnist lie.", metavar="FOLDER"),
    click.option("--download", is_flag=True, help="Download them if they are not there."),
    setting("--label", str, "The column of a .csv that holds the class.", metavar="COLUMN"),
    setting(
        "--bounds",
        str,
        "Public bounds of a .csv's number column; may be repeated.",
        metavar="COLUMN=LOW:HIGH",
    ),
    setting("--ignore", str, "A .csv's column to leave out; may be repeated.", metavar="COLUMN"),
)
"""The source of the records."""

TRAINED: Group = (
    *DATA,
    setting("--size", int, "Only so many records for D, drawn by the seed."),
    setting("--canary", str, "How the record is made that only one world has (dpaudit list)."),
    setting("--clip-canary/--no-clip-canary", None, "Keep an adversarial canary in [0, 1]."),
    setting(
        "--mechanism",
        str,
        "What is audited: a name, or your own function (dpaudit explain own-function).",
        metavar="NAME|MODULE:FUNCTION",
    ),
    setting(
        "--set",
        str,
        "A setting of the mechanism's own (dpaudit explain MECHANISM); may be repeated.",
        metavar="NAME=VALUE",
    ),
    setting(
        "--adversary",
        click.Choice(list(ADVERSARIES)),
        "Who attacks: from outside, or as strong as privacy promises to withstand (dpaudit explain "
        "NAME).",
    ),
    setting(
        "--outputs", click.Choice(["logits", "probabilities"]), "Output of your function's model."
    ),
    setting("--network", str, "cnn-small, cnn-paper, mlp or logreg."),
    setting("--epsilon", float, "Train with the least noise that claims this epsilon."),
    setting("--noise-multiplier", float, "Or train with this much noise, and claim what it gives."),
    setting("--delta", float, "The claim's delta."),
    setting("--accountant", click.Choice(NUMERICAL), "Whose epsilon is the claim."),
    setting("--epochs", int, "Epochs of each training."),
    setting("--steps", int, "Steps of each training, instead of epochs."),
    setting("--batch", str, "Expected records per batch.", metavar="N|full", callback=_batch),
    setting("--lr", float, "Learning rate."),
    setting("--clip", float, "Norm that each record's gradient is clipped to."),
    setting("--dropout", float, "Dropout probability, in training and in MC dropout."),
    setting(
        "--init", click.Choice(["random", "fixed"]), "Initial weights: drawn per model, or one."
    ),
    setting("--samples", int, "T: MC-dropout forward passes per model."),
    setting("--models", int, "Models in all, half of them in each world; rounded up to 4s."),
)
"""The training that is audited."""

CLAIMED: Group = (
    setting(
        "--claim",
        str,
        "Judge this claim instead of the mechanism's own; needed with your own function.",
        metavar="EPS,DELTA",
        callback=pair,
    ),
    setting("--seed", int, "Root of every random number of the run."),
    setting("--backend", click.Choice(BACKENDS), "Which DP-SGD trains; opacus to audit Opacus."),
    click.option(
        "--workers",
        type=click.IntRange(1, MOST["workers"]),
        help="Processes.  [default: one a core]",
    ),
    click.option("--config", "file", type=FILE, help="A saved config.toml."),
)
"""The claim, and where models are trained."""

JUDGED: Group = (
    click.option(
        "--attack",
        multiple=True,
        help="A name from dpaudit list, or an expression such as 'mean & inv_std'; may be "
        f"repeated.  [default: {', '.join(Judging.attacks)}]",
        shell_complete=completion.plugins("attacks"),
    ),
    click.option(
        "--estimator",
        help="Scores or errors to epsilon.  [default: auto: the exact tests of scores, "
        "clopper-pearson for AND/OR rules]",
        shell_complete=completion.plugins("estimators"),
    ),
    click.option(
        "--defence",
        help="What outputs go through first, such as quantize:0.01.  [default: none]",
        shell_complete=completion.defences,
    ),
    click.option(
        "--primary",
        help="The attack whose bound decides, or all, each at its share of the error.  "
        "[default: picked on the choosing half]",
        shell_complete=completion.deciding,
    ),
    click.option("--confidence", type=float, help=f"[default: {Judging.confidence}]"),
    click.option(
        "--raw-scores/--no-raw-scores",
        default=None,
        help="Do not round scores: a deliberate audit of what the low bits of floating-point "
        "noise give away.  [default: rounded]",
    ),
)
"""Attacks, estimator, the bound that decides, and its confidence."""

_REPORT = Destination(in_run=True)

REPORTED: Group = (
    click.option("--json", type=_REPORT, help="Also write the report here, for a machine."),
    click.option("--html", type=_REPORT, help="Also write the report here, as a page."),
    click.option("--sarif", type=_REPORT, help="Also write it here for code scanning, SARIF."),
    click.option("--junit", type=_REPORT, help="Also write it here as a test report, JUnit XML."),
    click.option(
        "--no-canary-image", is_flag=True, help="Leave the canary out of page and figures."
    ),
    click.option("--fail-on-violation", is_flag=True, help="Exit with 1 if it is refuted."),
)
"""The files of a report, and the exit code of a violation."""

WRITTEN: Group = (
    click.option("--json", type=Destination(), help="Also write it here, for a machine."),
    click.option(
        "--figure", type=Destination(*FIGURES), help="Also draw it here, as .png or .svg."
    ),
)
"""The files of a result that has one figure."""
