"""How near a certified epsilon comes to the claimed one: each adversary, claim, number of models.

Every bound is valid: at 95 %, delta 1e-5, exact accounting. A row is the mean of repetitions, each
with a seed of its own and so with records, a start, a canary, models and noise of its own.

Fewer models are the first of a repetition's many, judged as if there were no others: the bound is
that of a run of this size with the same seed, which trains the very same ones. Each row's bounds
hold by themselves; rows of one training are not independent of one another.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

import click
from scipy.stats import binom

from dpaudit.report.formats import at_least
from reproductions.made import about, command, data_file
from reproductions.tightness.claims import RECORDS, Game, Row, rows
from reproductions.tightness.closeness import FREE, draw
from reproductions.tightness.judged import CONFIDENCE, SMALL, Small, judged, small
from reproductions.tightness.published import beside


@dataclass(frozen=True)
class Measured:
    """A row's bounds, one a repetition, and the seconds that one took, over all workers."""

    row: Row
    bounds: list[float]
    seconds: float

    @property
    def mean(self) -> float:
        """What is held against the bar."""
        return mean(self.bounds)

    @property
    def verdict(self) -> str:
        """The bar, and whether it is met."""
        bar = self.row.bar
        if bar is None:
            return "-"
        return f"{bar:.2f} {'met' if self.mean >= bar else 'MISSED'}"

    def summary(self) -> dict[str, Any]:
        """What is written as JSON."""
        told = {**asdict(self), "mean": self.mean}
        return {**told, "met": None if self.row.bar is None else self.mean >= self.row.bar}


def played(
    game: Game, data: Mapping[str, Any], repetition: int, folder: Path, pool: Executor
) -> Path:
    """The journal of one repetition, which goes on where it was interrupted."""
    from dpaudit import audit
    from dpaudit.config import Config

    settings = game.settings(data, repetition)
    size = game.per_world or game.canaries or game.steps
    out = folder / f"{game.name} {size} {repetition}".replace(" ", "_")
    prepared = audit.prepare(Config.from_dict(settings), out=out)
    return audit.run(prepared, out, pool).journal


def measure(
    wanted: list[Row], data: Mapping[str, Any], repetitions: int, folder: Path
) -> Iterator[Measured | Small]:
    """Row after row, and what small audits of the same models show; trained once."""
    from dpaudit.executors import cores, local_pool

    with local_pool(cores()) as pool:
        for game in dict.fromkeys(row.game for row in wanted):
            here = [row for row in wanted if row.game == game]
            journals = [played(game, data, i, folder, pool) for i in range(repetitions)]
            runs = [judged(journal, here) for journal in journals]
            for row, found in zip(here, zip(*runs, strict=True), strict=True):
                bounds, seconds = zip(*found, strict=True)
                yield Measured(row, list(bounds), mean(seconds))
            if (game.per_world or 0) >= SMALL:
                yield small(game, journals)


HEAD = f"{'adversary':<14}{'batches':<12}{'claim':>6}{'models':>15}  {'estimator':<11}{'mean':>6}  "


def line(one: Measured, repetitions: int) -> str:
    """A row of the table; bounds are rounded down, so that they stay bounds."""
    row, each = one.row, "".join(f"{at_least(bound):>6}" for bound in one.bounds)
    return (
        f"{row.game.adversary:<14}{row.game.trained:<12}{row.game.epsilon:6g}{row.models:>15}  "
        f"{row.estimator:<11}{at_least(one.mean):>6}  {each:<{width(repetitions)}}  "
        f"{one.verdict:<12}{one.seconds:8.0f}"
    )


def exceeding(found: Sequence[Measured]) -> str:
    """How many trainings have a bound above their claim, of all their models, and by what chance.

    Bounds of one training are not independent of one another, so that one of each counts.
    """
    last = {one.row.game: one for one in found if one.row.estimator not in FREE}
    bounds = [(bound, game.epsilon) for game, one in last.items() for bound in one.bounds]
    above = sum(bound > epsilon for bound, epsilon in bounds)
    chance = float(binom.sf(above - 1, len(bounds), 1 - CONFIDENCE))
    return (
        f"{above} of {len(bounds)} trainings have a bound above their claim; so many or more have "
        f"a chance of {chance:.2g}, if each has one of {1 - CONFIDENCE:.3g}"
    )


def width(repetitions: int) -> int:
    """Of the column with every repetition's bound."""
    return max(len("each"), 6 * repetitions)


def is_called(game: Game, only: str) -> bool:
    """Whether a game's name begins with these words."""
    words = only.split()
    return game.name.split()[: len(words)] == words


def named(data: str) -> dict[str, Any]:
    """The settings of a run that name the records."""
    if data == "digits":
        return {"data": data}
    return {"data": str(data_file("mnist_12k.npz")), "size": RECORDS}


@contextmanager
def kept(folder: Path | None) -> Iterator[Path]:
    """A folder for journals; a passing one if none is given."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory() as passing:
        yield Path(passing)


@click.command()
@click.option("--data", type=click.Choice(["digits", "mnist"]), default="digits", show_default=True)
@click.option("--only", default="", help="What begins so: 'worst-case', 'white-box full 10'.")
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True)
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1, show_default=True)
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Journals; goes on from what is there."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
@click.option("--figure", type=click.Path(path_type=Path), help="Draw bounds against claims.")
def main(
    data: str,
    only: str,
    repetitions: int,
    scale: float,
    keep: Path | None,
    json_file: Path | None,
    figure: Path | None,
) -> None:
    """Audit every claim again and again, and hold the mean bound against its bar."""
    wanted = [row.scaled(scale) for row in rows() if is_called(row.game, only)]
    if not wanted:
        raise click.UsageError(f"nothing is called {only!r}")
    if data != "digits":
        # What is promised is promised on the data that everybody has.
        wanted = [replace(row, bar=None) for row in wanted]
    chosen = named(data)
    click.echo(
        f"{data}, {RECORDS:,} records, cnn-small; {100 * CONFIDENCE:g} %, delta 1e-5; a batch is"
    )
    click.echo("full or its sampling rate x steps; seconds are of a repetition, over all workers\n")
    click.echo(f"{HEAD}{'each':<{width(repetitions)}}  {'bar':<12}{'seconds':>8}")
    found: list[Measured] = []
    cut: list[Small] = []
    with kept(keep) as folder:
        for one in measure(wanted, chosen, repetitions, folder / data):
            if isinstance(one, Small):
                cut.append(one)
            else:
                found.append(one)
                click.echo(line(one, repetitions))
            if json_file:
                told = {
                    "about": about(command("tightness.run"), data=data, scale=scale),
                    "rows": [f.summary() for f in found],
                    "small": [asdict(one) for one in cut],
                }
                json_file.write_text(json.dumps(told, indent=1) + "\n")
    click.echo(f"\n{exceeding(found)}")
    if cut:
        click.echo(f"\nThe same models in audits of {SMALL} + {SMALL}: bounds above the claim")
        click.echo("\n".join(f"  {one.line()}" for one in cut))
    if published := beside(data):
        click.echo("\n" + "\n".join(published))
    if figure:
        draw([one.summary() for one in found], data, figure)


if __name__ == "__main__":
    main()
