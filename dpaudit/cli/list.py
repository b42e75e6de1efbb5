"""`dpaudit list`: every plug-in, adversary and network with one line each."""

from __future__ import annotations

from collections.abc import Mapping

import click

from dpaudit import registry
from dpaudit.config.adversaries import ADVERSARIES
from dpaudit.errors import BadInput
from dpaudit.training.networks import NETWORKS


@click.command("list")
def command() -> None:
    """Name every plug-in, adversary and network."""
    for kind in registry.KINDS:
        names = registry.names(kind)
        if not names:
            continue
        _section(kind, {name: _summary(kind, name) for name in names})
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
