"""The paper's three questions about Bayesian networks, each answered in three ways."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import click
from bayesian_games import Game, games


def played(game: Game, folder: Path, pool: Executor) -> Path:
    """The journal of a game, which goes on where it was interrupted."""
    from dpaudit import audit

    out = folder / game.folder
    return audit.run(audit.prepare(game.config(), out=out), out, pool).journal


@click.command()
@click.option("--only", default="", help="What begins so: 'digits', 'digits crafted blank'.")
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), required=True)
def main(only: str, scale: float, keep: Path) -> None:
    from dpaudit.executors import Here

    wanted = [game.scaled(scale) for game in games() if game.name.startswith(only)]
    with Here() as pool:
        for game in wanted:
            t = time.monotonic()
            played(game, keep, pool)
            click.echo(f"{game.folder} {time.monotonic() - t:.0f} s")


if __name__ == "__main__":
    main()
