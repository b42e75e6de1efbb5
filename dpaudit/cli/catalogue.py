"""`dpaudit list` and `dpaudit explain NAME`: all plug-ins in a line each, or one at length."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import click

from dpaudit import registry
from dpaudit.cli import completion
from dpaudit.config import mechanism_settings
from dpaudit.config.adversaries import ADVERSARIES, Adversary
from dpaudit.errors import BadInput
from dpaudit.training.networks import NETWORKS

WIDTH = 79

SINGULAR = {"attacks": "attack"}
"""Settings whose option has another name."""


@click.command("list")
def list_all() -> None:
    """Name every plug-in, adversary and network."""
    for kind in registry.KINDS:
        _section(kind, {name: _summary(kind, name) for name in registry.names(kind)})
    _section("adversaries", {a.name: a.summary for a in ADVERSARIES.values()})
    _section("networks", {n: (x.__doc__ or "").splitlines()[0] for n, x in NETWORKS.items()})


def _summary(kind: str, name: str) -> str:
    try:
        return registry.summary(kind, name)
    except BadInput as error:
        return str(error)  # one broken plug-in must not hide the others


def _section(title: str, summaries: Mapping[str, str]) -> None:
    click.secho(title, bold=True)
    width = max(map(len, summaries))
    for name, summary in summaries.items():
        click.echo(f"  {name:<{width}}  {summary}")


@click.command("explain")
@click.argument("name", shell_complete=completion.explained)
def explain(name: str) -> None:
    """Tell what a plug-in does.

    NAME is any name that dpaudit list shows.
    """
    for kind in registry.KINDS:
        name = registry.current_name(kind, name)
    known = {kind: registry.names(kind) for kind in registry.KINDS}
    known |= {"adversaries": [*ADVERSARIES], "networks": [*NETWORKS]}
    kinds = [kind for kind, names in known.items() if name in names]
    if not kinds:
        every = [name for names in known.values() for name in names]
        raise BadInput(registry.unknown("plug-ins", name, every), "unknown-name", value=name)
    for kind in kinds:
        click.secho(f"{name} ({kind})", bold=True)
        if kind == "adversaries":
            click.echo(_adversary(ADVERSARIES[name]))
        elif kind == "networks":
            click.echo(inspect.getdoc(NETWORKS[name]))
        else:
            click.echo(registry.description(kind, name) + "\n")
        if kind == "mechanisms" and (own := mechanism_settings.describe(name)):
            click.echo("Settings of its own, with their defaults:\n")
            click.echo("".join(f"    {line}\n" for line in own))


def _adversary(adversary: Adversary) -> str:
    """Return an adversary's powers, its default settings, what a bound means, and its paper."""
    facts = {"Chooses": adversary.chose, "Sees": adversary.sees}
    if not adversary.asks:
        facts["Puts in, if the canary is a gradient"] = adversary.puts_in
    if adversary.default_settings:
        facts["Sets, unless you do"] = ", ".join(
            f"--{SINGULAR.get(name, name)} {' '.join(x) if isinstance(x, tuple) else x}"
            for name, x in adversary.default_settings.items()
        )
    facts["Meaning"] = adversary.follows
    if adversary.stronger:
        facts["Stronger"] = " and ".join(adversary.stronger)
    blocks = [
        adversary.summary,
        *(f"{label}: {text.removesuffix('.')}." for label, text in facts.items()),
    ]
    return "\n\n".join(click.wrap_text(b, WIDTH) for b in [*blocks, f"{adversary.paper}."])
