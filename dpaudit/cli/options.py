"""Options that several commands share, in the groups in which help shows them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from dpaudit.accounting import NUMERICAL
from dpaudit.checks import MOST
from dpaudit.cli import BadValue, Misuse
from dpaudit.cli.command import Group, RenamedOption
from dpaudit.cli.completion import COMPLETERS
from dpaudit.cli.output import FIGURES, Destination
from dpaudit.config import DEFAULT
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.config.settings import BACKENDS, Budget, Judging


class Parsed(click.types.StringParamType):
    """A value that a function reads from text; its ValueError rejects the text."""

    def __init__(self, read: Callable[[str], Any], code: str, problem: str) -> None:
        self.read, self.code, self.problem = read, code, problem

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return self.read(value)
        except ValueError:
            raise BadValue(f"'{value}' {self.problem}", self.code, param, ctx) from None


def _claim(text: str) -> tuple[float, float | None]:
    """Return EPS or EPS,DELTA as two numbers; the delta is None if it is left out."""
    epsilon, comma, delta = text.partition(",")
    return float(epsilon), float(delta) if comma else None


def _batch(text: str) -> int | str:
    return text if text == "full" else int(text)


FILE = click.Path(path_type=Path)
TYPES: Mapping[str, Any] = {
    **dict.fromkeys(("INTEGER", *"MNRTV"), int),
    **dict.fromkeys(("FLOAT", "EPS"), float),
    **dict.fromkeys(("PATH", "FILE..."), FILE),
    "EPS[,DELTA]": Parsed(_claim, "no-claim", "is not EPS or EPS,DELTA, such as 8 or 8,1e-5"),
    "N|full": Parsed(_batch, "no-number", "is neither a number of records nor full"),
}
"""The type of a value, by its word in usage; any other word stands for text."""


def _name(usage: str) -> str:
    """Return the name of an option's parameter."""
    return re.split("[ /]", usage.lstrip("-"))[0].replace("-", "_")


def option(manual: str, *names: str, **more: Any) -> click.Option:
    """Return an option from its line of a manual, such as '--trials INTEGER  Number of trials.'.

    Without a word it is a flag. Values are completed by the name of the option.
    """
    usage, _, text = manual.partition("  ")
    spelling, _, word = usage.partition(" ")
    if word.startswith("["):
        more["type"] = click.Choice(word.strip("[]").split("|"))
    elif word:
        more = {"type": TYPES.get(word), "metavar": word, **more}
    elif "flag_value" not in more:
        more["is_flag"] = True
    kind = RenamedOption if "old" in more else click.Option
    more |= {"show_default": "default" in more, "shell_complete": COMPLETERS.get(_name(usage))}
    return kind([spelling, *names], help=text, **more)


def setting(manual: str) -> click.Option:
    """Return the option of a setting of the run; left out, the configuration's value holds."""
    value = DEFAULT[_name(manual)]
    if value not in (None, (), True, False) and "[default" not in manual:
        manual += f"  [default: {value}]"
    return option(manual, default=None, multiple=value == ())


def given_only(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given; the others have the defaults of what takes them."""
    return {name: value for name, value in options.items() if value not in (None, ())}


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


DELTA = setting("--delta FLOAT  Delta of the claim and the bounds.")
CONFIDENCE = setting("--confidence FLOAT  Confidence of the bounds.")
SEED = option("--seed INTEGER  Seed of all random numbers.", default=0)
WORKERS = option(
    "--workers INTEGER RANGE  Worker processes.  [default: one per core]",
    type=click.IntRange(1, MOST["workers"]),
)
DETAIL = (
    option("--verbose  Print the details, too.", "detail", flag_value="all"),
    option("--quiet  Print one line, and no progress.", "detail", flag_value="line"),
)
GATES = (
    option("--fail-on-violation  Exit with 1 if the claim is refuted."),
    option(
        "--fail-on-weak  Exit with 1 unless the claim held against a strong test: at least half is "
        "certified."
    ),
)
"""Options that `stop_if` takes."""


def curve(default: str) -> click.Option:
    """Return the option of the claimed trade-off curve."""
    return option(
        "--curve gaussian|none|dpsgd:Q,T  The claimed trade-off curve; dpsgd with sample rate Q "
        f"and T steps (add or remove one record).  [default: {default}]"
    )


DATA = Group(
    "Data",
    setting("--data TEXT  A name of dpaudit list, a .npz, a .csv or a folder of class folders."),
    setting("--data-root FOLDER  Folder of cifar10, mnist, fashion-mnist."),
    option("--download  Download the data set if it is not there."),
    setting("--label COLUMN  Column of a .csv with the class."),
    setting(
        "--bounds COLUMN=LOW:HIGH  Public bounds of a number column of a .csv; may be repeated."
    ),
    setting("--ignore COLUMN  Column of a .csv to leave out; may be repeated."),
)
"""The source of the records."""

RECORDS = DATA.plus(setting("--size INTEGER  Use only this many records, drawn with the seed."))
"""The records that models are trained on."""

CANARY = Group(
    "Canary",
    setting("--canary NAME  How the canary is made (dpaudit list)."),
    setting("--clip-canary/--no-clip-canary  Keep the values of a made canary in [0, 1]."),
    option(
        "--canaries M  Train once with M canaries, each put in by a fair coin, instead of many "
        "models (--adversary white-box)."
    ),
    option(
        "--guesses R  How many of the M canaries are guessed.  [default: the number expected to "
        "show most]"
    ),
)
"""The canary of an audit that trains many models, or the canaries of one training."""

MECHANISM = Group(
    "Mechanism and claim",
    setting("--mechanism NAME|FUNCTION  A name of dpaudit list, or your MODULE:FUNCTION."),
    setting("--set NAME=VALUE  A setting of the mechanism; may be repeated."),
    setting("--epsilon FLOAT  Train to claim this epsilon."),
    setting("--noise-multiplier FLOAT  Or train with this noise; the claim follows."),
    setting("--delta FLOAT  Delta of the claim."),
    option("--claim EPS[,DELTA]  The claim to judge; needed with a function."),
    setting(f"--accountant [{'|'.join(NUMERICAL)}]  Computes the claim."),
    setting("--network NAME  Network (dpaudit list)."),
    setting("--epochs INTEGER  Epochs of each training."),
    setting("--steps INTEGER  Steps of each training, instead of epochs."),
    setting("--batch N|full  Expected batch size."),
    setting("--lr FLOAT  Learning rate."),
    setting("--clip FLOAT  Clipping norm of each record's gradient."),
    setting("--dropout FLOAT  Dropout rate, in MC dropout too."),
    setting("--init [random|fixed]  Initial weights."),
    setting("--outputs [logits|probabilities]  Your model's output."),
)
"""The mechanism that is audited, its training, and its claim."""

ADVERSARY = Group(
    "Adversary",
    setting(
        f"--adversary [{'|'.join(ADVERSARIES)}]  "
        "What the adversary may do and see (dpaudit explain NAME)."
    ),
    setting("--samples T  MC-dropout queries per model."),
    setting("--models INTEGER  Models in all, half with the canary; rounded up to 4s."),
)
"""Who attacks, and how many models there are to tell apart."""

JUDGING = Group(
    "Judging",
    option(
        "--attack NAME  A name of dpaudit list, or an expression such as 'mean & inv_std'; may be "
        "repeated.  "
        f"[default: {', '.join(Judging.attacks)}]",
        multiple=True,
    ),
    setting(
        "--estimator NAME  Turns scores or errors into a bound.  [default: the exact test that "
        "fits]"
    ),
    setting("--defence NAME:NUMBER  Applied to the outputs first, such as quantize:0.01."),
    setting(
        "--primary NAME|all  The attack whose bound decides, or all, which share the error.  "
        "[default: chosen on half of the models]"
    ),
    CONFIDENCE,
    setting(
        "--raw-scores/--no-raw-scores  Keep the low bits of scores, to audit floating-point "
        "noise.  [default: rounded]"
    ),
)
"""Attacks, estimator, the bound that decides, and its confidence."""

_REPORT = Destination(in_run=True)

REPORTED = Group(
    "Output",
    *DETAIL,
    option("--json PATH  Also write the report as JSON.", type=_REPORT),
    option("--html PATH  Also write the report as a page.", type=_REPORT),
    option("--sarif PATH  Also write it as SARIF, for code scanning.", type=_REPORT),
    option("--junit PATH  Also write it as JUnit XML, for test reports.", type=_REPORT),
    option("--no-canary-image  Leave the canary out of page and figures."),
    *GATES,
)
"""The files of a report, and the exit code of a violation."""

WRITTEN = Group(
    "Output",
    *DETAIL,
    option("--json PATH  Also write the result as JSON.", type=Destination()),
    option("--figure PATH  Also draw it, as .png or .svg.", type=Destination(*FIGURES)),
)
"""The files of a result that has one figure."""

MACHINE = Group(
    "Machine",
    option("--config PATH  Start from a saved config.toml.", "file"),
    setting("--seed INTEGER  Seed of all random numbers; another one is another audit."),
    setting(f"--backend [{'|'.join(BACKENDS)}]  Implementation of DP-SGD."),
    WORKERS,
)
"""Where models are trained, and from which seed."""
