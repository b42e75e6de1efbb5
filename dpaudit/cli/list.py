"""`dpaudit list`: every plug-in with one line each."""

from __future__ import annotations

import click

from dpaudit import registry
from dpaudit.errors import BadInput
from dpaudit.training.networks import NETWORKS


@click.command("list")
def command() -> None:
    """Name every plug-in."""
    for kind in registry.KINDS:
        names = registry.names(kind)
        if not names:
            continue
        click.secho(kind, bold=True)
        width = max(map(len, names))
        for name in names:
            try:
                summary = registry.summary(kind, name)
            except BadInput as error:
                summary = str(error)  # one broken plug-in must not hide the others
            click.echo(f"  {name:<{width}}  {summary}")
    click.secho("networks", bold=True)
    width = max(map(len, NETWORKS))
    for name, network in NETWORKS.items():
        click.echo(f"  {name:<{width}}  {(network.__doc__ or '').splitlines()[0]}")
