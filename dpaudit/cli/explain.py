"""`dpaudit explain NAME`: what a plug-in does, at length."""

from __future__ import annotations

import inspect

import click

from dpaudit import registry
from dpaudit.cli import names
from dpaudit.errors import BadInput
from dpaudit.training.networks import NETWORKS


@click.command("explain")
@click.argument("name", shell_complete=names.explained)
def command(name: str) -> None:
    """Tell what a plug-in does.

    NAME is any name that dpaudit list shows.
    """
    if name in NETWORKS:
        click.secho(f"{name} (networks)", bold=True)
        click.echo(inspect.getdoc(NETWORKS[name]))
        return
    kinds = [kind for kind in registry.KINDS if name in registry.names(kind)]
    if not kinds:
        known = [known for kind in registry.KINDS for known in registry.names(kind)]
        known += NETWORKS
        raise BadInput(registry.unknown("plug-ins", name, known))
    for kind in kinds:
        click.secho(f"{name} ({kind})", bold=True)
        click.echo(registry.description(kind, name) + "\n")
