"""Options that several commands share, in the groups in which help shows them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dpaudit.accounting import NUMERICAL
from dpaudit.checks import MOST
from dpaudit.cli import BadValue, Misuse, completion
from dpaudit.cli.command import Group
from dpaudit.cli.output import FIGURES, Destination
from dpaudit.config import DEFAULT
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.config.settings import BACKENDS, Budget, Judging

FILE = click.Path(path_type=Path)


def option(*flags: str, help: str, **more: Any) -> click.Option:
    """Return an option; left out, its value is None or, if it may be repeated, empty."""
    return click.Option(flags, help=help, **more)


# ---------------------------------------------------------------- values


def _claim(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Return EPS or EPS,DELTA as two numbers; the delta is None if it is left out."""
    if text is None:
        return None
    epsilon, comma, delta = text.partition(",")
    try:
        return float(epsilon), float(delta) if comma else None
    except ValueError:
        sentence = f"'{text}' is not EPS or EPS,DELTA, such as 8 or 8,1e-5"
        raise BadValue(sentence, "no-claim", param, ctx) from None


def claim_with_delta(
    claim: tuple[float, float | None], delta: float | None, default: float = Budget.delta
) -> tuple[float, float]:
    """Return a claim with its own delta, else that of --delta, else the default."""
    epsilon, own = claim
    if own is None:
        return epsilon, default if delta is None else delta
    if delta not in (None, own):
        sentence = f"--claim has the delta {own:g} and --delta is {delta:g}; give one of them"
        raise Misuse(sentence, "excluded-options")
    return epsilon, own


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


def setting(flag: str, kind: Any, text: str, **more: Any) -> click.Option:
    """Return the option of a setting of the run; left out, the configuration's value holds."""
    name = flag.split("/")[0].lstrip("-").replace("-", "_")
    value = DEFAULT[name]
    shown = "" if value in (None, (), True, False) else f"  [default: {value}]"
    more |= {"multiple": value == (), "shell_complete": COMPLETE.get(name)}
    return click.Option([flag], type=kind, default=None, help=text + shown, **more)


def given_only(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; the others have the defaults of what takes them."""
    return {name: value for name, value in options.items() if value not in (None, ())}


# ---------------------------------------------------------------- single options

DELTA = option(
    "--delta", type=float, help=f"Delta of the claim and the bounds.  [default: {Budget.delta:g}]"
)
CONFIDENCE = option(
    "--confidence", type=float, help=f"Confidence of the bounds.  [default: {Judging.confidence}]"
)
WORKERS = option(
    "--workers",
    type=click.IntRange(1, MOST["workers"]),
    help="Worker processes.  [default: one per core]",
)
SEED = option("--seed", type=int, default=0, show_default=True, help="Seed of all random numbers.")
CANARIES = option(
    "--canaries",
    type=int,
    metavar="M",
    help="Train once with M canaries, each put in by a fair coin, instead of many models "
    "(--adversary white-box).",
)
GUESSES = option(
    "--guesses",
    type=int,
    metavar="R",
    help="How many of the M canaries are guessed.  [default: the number expected to show most]",
)
DETAIL = (
    option("--verbose", "detail", flag_value="all", help="Print the details, too."),
    option("--quiet", "detail", flag_value="line", help="Print one line, and no progress."),
)
FAIL_ON_VIOLATION = option(
    "--fail-on-violation", is_flag=True, help="Exit with 1 if the claim is refuted."
)
FAIL_ON_WEAK = option(
    "--fail-on-weak",
    is_flag=True,
    help="Exit with 1 unless the claim held against a strong test: at least half is certified.",
)


def claim(text: str) -> click.Option:
    """Return the option of the claim; without DELTA, `claim_with_delta` completes it."""
    return option("--claim", metavar="EPS[,DELTA]", callback=_claim, help=text)


def curve(default: str) -> click.Option:
    """Return the option of the claimed trade-off curve."""
    return option(
        "--curve",
        metavar="gaussian|none|dpsgd:Q,T",
        shell_complete=completion.curves,
        help="The claimed trade-off curve; dpsgd with sample rate Q and T steps (add or remove "
        f"one record).  [default: {default}]",
    )


# ---------------------------------------------------------------- groups

DATA = Group(
    "Data",
    (
        setting(
            "--data", str, "A name of dpaudit list, a .npz, a .csv or a folder of class folders."
        ),
        setting("--data-root", str, "Folder of cifar10, mnist, fashion-mnist.", metavar="FOLDER"),
        option("--download", is_flag=True, help="Download the data set if it is not there."),
        setting("--label", str, "Column of a .csv with the class.", metavar="COLUMN"),
        setting(
            "--bounds",
            str,
            "Public bounds of a number column of a .csv; may be repeated.",
            metavar="COLUMN=LOW:HIGH",
        ),
        setting(
            "--ignore", str, "Column of a .csv to leave out; may be repeated.", metavar="COLUMN"
        ),
    ),
)
"""The source of the records."""

RECORDS = DATA.plus(
    setting("--size", int, "Use only this many records, drawn with the seed."),
)
"""The records that models are trained on."""

CANARY = Group(
    "Canary",
    (
        setting("--canary", str, "How the canary is made (dpaudit list).", metavar="NAME"),
        setting(
            "--clip-canary/--no-clip-canary", None, "Keep the values of a made canary in [0, 1]."
        ),
    ),
)
"""The canary of an audit that trains many models."""

MECHANISM = Group(
    "Mechanism and claim",
    (
        setting(
            "--mechanism",
            str,
            "A name of dpaudit list, or your MODULE:FUNCTION.",
            metavar="NAME|FUNCTION",
        ),
        setting(
            "--set",
            str,
            "A setting of the mechanism; may be repeated.",
            metavar="NAME=VALUE",
        ),
        setting("--epsilon", float, "Train to claim this epsilon."),
        setting("--noise-multiplier", float, "Or train with this noise; the claim follows."),
        setting("--delta", float, "Delta of the claim."),
        claim("The claim to judge; needed with a function."),
        setting("--accountant", click.Choice(NUMERICAL), "Computes the claim."),
        setting("--network", str, "Network (dpaudit list).", metavar="NAME"),
        setting("--epochs", int, "Epochs of each training."),
        setting("--steps", int, "Steps of each training, instead of epochs."),
        setting("--batch", str, "Expected batch size.", metavar="N|full", callback=_batch),
        setting("--lr", float, "Learning rate."),
        setting("--clip", float, "Clipping norm of each record's gradient."),
        setting("--dropout", float, "Dropout rate, in MC dropout too."),
        setting("--init", click.Choice(["random", "fixed"]), "Initial weights."),
        setting(
            "--outputs",
            click.Choice(["logits", "probabilities"]),
            "Your model's output.",
        ),
    ),
)
"""The mechanism that is audited, its training, and its claim."""

ADVERSARY = Group(
    "Adversary",
    (
        setting(
            "--adversary",
            click.Choice(list(ADVERSARIES)),
            "What the adversary may do and see (dpaudit explain NAME).",
        ),
        setting("--samples", int, "MC-dropout queries per model.", metavar="T"),
        setting("--models", int, "Models in all, half with the canary; rounded up to 4s."),
    ),
)
"""Who attacks, and how many models there are to tell apart."""

JUDGING = Group(
    "Judging",
    (
        option(
            "--attack",
            multiple=True,
            metavar="NAME",
            help="A name of dpaudit list, or an expression such as 'mean & inv_std'; may be "
            f"repeated.  [default: {', '.join(Judging.attacks)}]",
            shell_complete=completion.plugins("attacks"),
        ),
        option(
            "--estimator",
            metavar="NAME",
            help="Turns scores or errors into a bound.  [default: the exact test that fits]",
            shell_complete=completion.plugins("estimators"),
        ),
        option(
            "--defence",
            metavar="NAME:NUMBER",
            help="Applied to the outputs first, such as quantize:0.01.  [default: none]",
            shell_complete=completion.defences,
        ),
        option(
            "--primary",
            metavar="NAME|all",
            help="The attack whose bound decides, or all, which share the error.  [default: "
            "chosen on half of the models]",
            shell_complete=completion.deciding,
        ),
        CONFIDENCE,
        option(
            "--raw-scores/--no-raw-scores",
            default=None,
            help="Keep the low bits of scores, to audit floating-point noise.  [default: rounded]",
        ),
    ),
)
"""Attacks, estimator, the bound that decides, and its confidence."""

_REPORT = Destination(in_run=True)

REPORTED = Group(
    "Output",
    (
        *DETAIL,
        option("--json", type=_REPORT, help="Also write the report as JSON."),
        option("--html", type=_REPORT, help="Also write the report as a page."),
        option("--sarif", type=_REPORT, help="Also write it as SARIF, for code scanning."),
        option("--junit", type=_REPORT, help="Also write it as JUnit XML, for test reports."),
        option("--no-canary-image", is_flag=True, help="Leave the canary out of page and figures."),
        FAIL_ON_VIOLATION,
        FAIL_ON_WEAK,
    ),
)
"""The files of a report, and the exit code of a violation."""

WRITTEN = Group(
    "Output",
    (
        *DETAIL,
        option("--json", type=Destination(), help="Also write the result as JSON."),
        option("--figure", type=Destination(*FIGURES), help="Also draw it, as .png or .svg."),
    ),
)
"""The files of a result that has one figure."""

MACHINE = Group(
    "Machine",
    (
        option("--config", "file", type=FILE, help="Start from a saved config.toml."),
        setting("--seed", int, "Seed of all random numbers; another one is another audit."),
        setting("--backend", click.Choice(BACKENDS), "Implementation of DP-SGD."),
        WORKERS,
    ),
)
"""Where models are trained, and from which seed."""
