"""`dpaudit explain NAME`: what a plug-in does, at length."""

from __future__ import annotations

import inspect

import click

from dpaudit import registry
from dpaudit.cli import completion
from dpaudit.config import mechanism_settings
from dpaudit.config.adversaries import ADVERSARIES, Adversary
from dpaudit.errors import BadInput
from dpaudit.report.to_terminal import wrap
from dpaudit.training.networks import NETWORKS

WIDTH = 79

SINGULAR = {"attacks": "attack"}
"""Settings whose option has another name."""


@click.command("explain")
@click.argument("name", shell_complete=completion.explained)
def command(name: str) -> None:
    """Tell what a plug-in does.

    NAME is any name that dpaudit list shows.
    """
    if name in ADVERSARIES:
        click.secho(f"{name} (adversaries)", bold=True)
        click.echo(_explained(ADVERSARIES[name]))
        return
    if name in NETWORKS:
        click.secho(f"{name} (networks)", bold=True)
        click.echo(inspect.getdoc(NETWORKS[name]))
        return
    kinds = [kind for kind in registry.KINDS if name in registry.names(kind)]
    if not kinds:
        known = [known for kind in registry.KINDS for known in registry.names(kind)]
        known += [*ADVERSARIES, *NETWORKS]
        raise BadInput(registry.unknown("plug-ins", name, known), "unknown-name", value=name)
    for kind in kinds:
        click.secho(f"{name} ({kind})", bold=True)
        click.echo(registry.description(kind, name) + "\n")
        if kind == "mechanisms" and (own := mechanism_settings.describe(name)):
            click.echo("Settings of its own, as they are by default:\n")
            click.echo("".join(f"    {line}\n" for line in own))


def _explained(adversary: Adversary) -> str:
    """What an adversary may do, what it brings along, what follows, and where it is from."""
    told = {"Chooses": adversary.chose, "Sees": adversary.sees}
    if not adversary.asks:
        told["Puts in, if the canary is a gradient"] = adversary.puts_in
    if adversary.default_settings:
        told["Sets, unless you do"] = ", ".join(
            f"--{SINGULAR.get(name, name)} {' '.join(x) if isinstance(x, tuple) else x}"
            for name, x in adversary.default_settings.items()
        )
    told["What follows"] = adversary.follows
    if adversary.stronger:
        told["Stronger"] = " and ".join(adversary.stronger)
    blocks = [adversary.summary, *(f"{label}: {text}." for label, text in told.items())]
    return "\n\n".join("\n".join(wrap(b, WIDTH)) for b in [*blocks, f"{adversary.paper}."])
