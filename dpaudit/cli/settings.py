"""What would change nothing is refused: whoever says it would believe that it did."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from dpaudit import registry
from dpaudit.accounting import NUMERICAL
from dpaudit.checks import MOST
from dpaudit.cli import BadValue, Misuse, completion
from dpaudit.config import DEFAULT, Config, mechanism_settings, plugin_defaults, unused_settings
from dpaudit.config.adversaries import ADVERSARIES, PER_STEP, Adversary
from dpaudit.config.settings import BACKENDS

OWN_TRAINING = "dpsgd"
"""The mechanism that takes all settings of training."""


def refuse(config: Config, said: Mapping[str, Any]) -> None:
    """Refuse settings that were `said` for a configuration in which they have no effect."""
    for name, why in _without_effect(config, said):
        if name in said:
            raise Misuse(f"{_flags([name])} has no effect {why}", "no-effect")
    own = [text.partition("=")[0] for text in said.get("set", ())]
    for name, why in _by_own_settings(config):
        if name in own or name in said:
            flag = f"--set {name}" if name in own else _flags([name])
            raise Misuse(f"{flag} has no effect {why}; leave it out", "no-effect")
    if said.get("canaries") == 1:
        raise Misuse(
            "--canaries 1 is one canary, which every run has; give at least 2, or leave it out",
            "too-small",
        )


def refuse_unknown(mechanism: str, said: Mapping[str, Any]) -> None:
    """Refuse settings that a mechanism does not look at."""
    unused = [name for name in said if name in _unknown(mechanism)]
    if unused:
        verb = "has" if len(unused) == 1 else "have"
        raise Misuse(f"{_flags(unused)} {verb} no effect on {mechanism}", "no-effect")


def _unknown(mechanism: str) -> Collection[str]:
    # The pixels of a user's function are kept in [0, 1] anyway.
    return unused_settings(mechanism) | ({"clip_canary"} if ":" in mechanism else set())


def _without_effect(config: Config, said: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings that others make idle, and why."""
    adversary = ADVERSARIES.get(config.attacker.adversary)
    if config.target.mechanism == OWN_TRAINING and adversary is not None:
        yield from _of_adversary(adversary, config)
        if config.training.batch == "full":
            yield "accountant", "on full batches, whose epsilon is computed exactly"
    if "clip_canary" in said and not _takes_noise(config.planting.canary):
        yield "clip_canary", f"on {config.planting.canary}, to which no adversarial noise is added"


def _by_own_settings(config: Config) -> Iterator[tuple[str, str]]:
    """Settings that those of a mechanism's own make idle, as it says itself, and why."""
    if config.target.mechanism in registry.names("mechanisms"):
        plugin = registry.load("mechanisms", config.target.mechanism)
        own = mechanism_settings.read(config.target.mechanism, config.target.set)
        yield from plugin.unused_settings(own).items()


def _of_adversary(adversary: Adversary, config: Config) -> Iterator[tuple[str, str]]:
    if adversary == PER_STEP:
        yield "models", "on single steps, of which all are trials"
    if not adversary.crafts:
        return
    yield "init", f"where the adversary chooses the initial parameters, as {adversary.name} does"
    if not adversary.asks:
        yield "samples", f"where the trained model is asked nothing, as by {adversary.name}"
    elif config.training.dropout == 0:
        yield "samples", "without dropout, which leaves nothing to sample (--dropout)"


def _takes_noise(canary: str) -> bool:
    """Whether a canary may leave the range of pixels; of an unknown one, others tell."""
    if canary not in registry.names("canaries"):
        return True
    return "clip" in registry.parameters(registry.load("canaries", canary))


def _flags(names: Collection[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


# ----------------------------------------------------------------
# The settings of a run as options, which `run` and `plan` share, and the configuration.


F = TypeVar("F", bound=Callable[..., Any])

WORKERS = click.IntRange(1, MOST["workers"])


def setting(flag: str, kind: Any, text: str, **more: Any) -> Callable[[F], F]:
    """An option that is a setting of the run; left out, it is the configuration's own."""
    name = flag.split("/")[0].lstrip("-").replace("-", "_")
    value = DEFAULT[name]
    shown = "" if value in (None, (), True, False) else f"  [default: {value}]"
    return click.option(flag, type=kind, default=None, help=text + shown, **more)


def pair(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """EPS,DELTA as two numbers."""
    if text is None:
        return None
    try:
        epsilon, delta = map(float, text.split(","))
    except ValueError:
        raise BadValue(
            f"'{text}' is not EPS,DELTA, such as 8,1e-5", "no-pair", param, ctx
        ) from None
    return epsilon, delta


def _batch(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """A number of records, or 'full'."""
    if text is None or text == "full":
        return text
    try:
        return int(text)
    except ValueError:
        said = f"'{text}' is neither a number of records nor full"
        raise BadValue(said, "no-number", param, ctx) from None


DATA: Sequence[Callable[[Any], Any]] = (
    setting(
        "--data",
        str,
        "A name from dpaudit list; a .npz or .csv file; a folder of images by class.",
        shell_complete=completion.plugins("data", files=True),
    ),
    setting("--data-root", str, "Where cifar10, mnist and fashion-mnist lie.", metavar="FOLDER"),
    click.option("--download", is_flag=True, help="Download them if they are not there."),
    setting("--label", str, "The column of a .csv that holds the class.", metavar="COLUMN"),
    setting(
        "--bounds",
        str,
        "Public bounds of a .csv's number column; may be repeated.",
        metavar="COLUMN=LOW:HIGH",
        multiple=True,
    ),
    setting(
        "--ignore",
        str,
        "A .csv's column to leave out; may be repeated.",
        metavar="COLUMN",
        multiple=True,
    ),
)
"""What names the records."""

TRAINED: Sequence[Callable[[Any], Any]] = (
    *DATA,
    setting("--size", int, "Only so many records for D, drawn by the seed."),
    setting(
        "--canary",
        str,
        "How the record is made that only one world has (dpaudit list).",
        shell_complete=completion.plugins("canaries"),
    ),
    setting(
        "--clip-canary/--no-clip-canary", None, "Keep an adversarial canary's pixels in [0, 1]."
    ),
    setting(
        "--mechanism",
        str,
        "What is audited: a name, or your own function (dpaudit explain own-function).",
        metavar="NAME|MODULE:FUNCTION",
        shell_complete=completion.plugins("mechanisms", files=True),
    ),
    setting(
        "--set",
        str,
        "A setting of the mechanism's own (dpaudit explain MECHANISM); may be repeated.",
        metavar="NAME=VALUE",
        multiple=True,
    ),
    setting(
        "--adversary",
        click.Choice(list(ADVERSARIES)),
        "Who attacks: from outside, or as strong as privacy promises to withstand (dpaudit explain "
        "NAME).",
    ),
    setting(
        "--outputs",
        click.Choice(["logits", "probabilities"]),
        "What your function's model gives back.",
    ),
    setting(
        "--network", str, "cnn-small, cnn-paper, mlp or logreg.", shell_complete=completion.networks
    ),
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
    setting(
        "--models", int, "Models trained in all, half of them in each world; rounded up to 4s."
    ),
)
"""What is trained, and how."""

CLAIMED: Sequence[Callable[[Any], Any]] = (
    setting(
        "--claim",
        str,
        "Judge this claim instead of the mechanism's own; needed with your own function.",
        metavar="EPS,DELTA",
        callback=pair,
    ),
    setting("--seed", int, "Root of every random number of the run."),
    setting(
        "--backend", click.Choice(BACKENDS), "Which DP-SGD trains; opacus to audit Opacus itself."
    ),
    click.option("--workers", type=WORKERS, help="Processes.  [default: one a core]"),
    click.option("--config", "file", type=click.Path(path_type=Path), help="A saved config.toml."),
)
"""What it claims, and where it is trained."""


def options(*groups: Sequence[Callable[[Any], Any]]) -> Callable[[F], F]:
    """Options in the order in which help shows them."""

    def decorate(command: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            command = option(command)
        return command

    return decorate


def configured(file: Path | None, given: dict[str, Any]) -> Config:
    """The saved configuration, or the default one, with what the command line says instead."""
    from dpaudit import data
    from dpaudit.config import mechanism_settings

    config = Config() if file is None else Config.from_toml(file)
    said = {name: value for name, value in given.items() if value not in (None, ())}
    named = dict(said)
    if "attack" in said:
        said["attacks"] = said.pop("attack")
    # Whole paths of files, so that the configuration holds wherever it is read.
    if "data_root" in said:
        said["data_root"] = str(Path(said["data_root"]).expanduser().resolve())
    if "data" in said:
        said |= {"fingerprint": None, "data": data.absolute(said["data"])}
    mechanism = said.get("mechanism", config.target.mechanism)
    if "set" in said:
        kept = config.target.set if mechanism == config.target.mechanism else ()
        said["set"] = mechanism_settings.merged(kept, said["set"])
    elif mechanism != config.target.mechanism:
        said["set"] = ()
    if "mechanism" in said:
        said["code"] = None
        where, _, function = said["mechanism"].rpartition(":")
        if where.endswith(".py"):
            said["mechanism"] = f"{Path(where).expanduser().resolve()}:{function}"
    if "epochs" in said and "steps" in said:
        raise Misuse(
            "--epochs and --steps both say how long to train; give either", "excluded-options"
        )
    if "epochs" in said:
        said["steps"] = None
    refuse_unknown(said.get("mechanism", mechanism), named)
    if "models" in said and said.get("canaries", config.attacker.canaries) > 1:
        raise Misuse(
            "--canaries are of one training, and --models of many; give either", "excluded-options"
        )
    made = config.changed(**{**plugin_defaults(said), **said})
    refuse(made, named)
    return made
