"""The paper's three questions about Bayesian networks, each answered in three ways.

Shibahara, Miura, Kii and Ichikawa, Privacy Risk of Differentially Private Bayesian Neural Network,
ask whether MC dropout leaks more than the plain network (RQ1), whether the number of passes matters
(RQ2) and whether rounding helps (RQ3). Their answers are estimates whose thresholds were tuned on
the models that they are scored on. Here they stand beside the same estimates on shuffled labels,
and beside valid answers: bounds and AUCs by rules that were fixed on other models.

Games whose journal is kept go on where they stopped. The result is read by
notebooks/bayesian_networks.ipynb.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from dpaudit.files import write_whole
from dpaudit.versions import versions
from reproductions.bayesian.answers import BAYESIAN, PLAIN, View, answered, views
from reproductions.bayesian.delong import Estimate
from reproductions.bayesian.games import Game, games
from reproductions.made import about, command
from reproductions.tightness.run import kept

DIGITS_KEPT = 4
"""Significant digits of what is written down: more would say nothing, and take room."""

QUICK = ("digits noise-0.5 random", "digits crafted blank")

JUDGED_BY = ("answers.py", "delong.py")


def played(game: Game, folder: Path, pool: Executor) -> Path:
    """The journal of a game, which goes on where it was interrupted."""
    from dpaudit import audit

    out = folder / game.folder
    return audit.run(audit.prepare(game.config(), out=out), out, pool).journal


def cost(game: Game) -> float:
    """The processor seconds that one model takes, measured on one of its own."""
    from dpaudit.audit.preparation import planted_pair, prepare
    from dpaudit.executors import SerialExecutor
    from dpaudit.seeds import trials

    prepared = prepare(game.config())
    with SerialExecutor() as pool:
        pair = planted_pair(prepared, pool, lambda *words: None)
    # The first models are also asked about test records, and one before it warms everything up.
    one, other = trials(0, 200)[-2:]
    prepared.mechanism.run(pair, [one])
    start = time.process_time()
    prepared.mechanism.run(pair, [other])
    return time.process_time() - start


def play_all(
    wanted: Iterable[Game], folder: Path, workers: int, asked: Sequence[View], judged: bool = False
) -> Iterator[dict[str, Any]]:
    """What each game says, one after the other; what has been judged so is not judged again.

    Or only those that have been `judged`.
    """
    with executor(workers) as pool:
        for game in wanted:
            told_in = folder / game.folder / f"answers-{_by(asked)}.json"
            if judged and not told_in.exists():
                continue
            if not told_in.exists():
                journal = played(game, folder, pool)
                told = {**answered(game, journal, asked), "processor_seconds": cost(game)}
                write_whole(told_in, json.dumps(short(told)).encode())
            yield json.loads(told_in.read_text())


def _by(asked: Sequence[View]) -> str:
    """A short hash of what is asked, and of the code that answers it."""
    code = [(Path(__file__).parent / name).read_bytes() for name in JUDGED_BY]
    asked_of = repr([(str(view.released), view.estimates, view.bounds) for view in asked])
    return hashlib.sha256(b"".join([*code, asked_of.encode()])).hexdigest()[:12]


def quick(scale: float, folder: Path) -> list[dict[str, Any]]:
    """A look at two games in this process, with few models and few ways of releasing."""
    few = [game.scaled(scale) for game in games() if game.name in QUICK]
    return list(play_all(few, folder, 1, views(passes=(1, 2), units=(0.01, 0.1))))


@contextmanager
def executor(workers: int) -> Iterator[Executor]:
    """Where models are trained: one worker is this process."""
    from dpaudit.executors import SerialExecutor, local_pool

    with SerialExecutor() if workers == 1 else local_pool(workers) as pool:
        yield pool


def short(value: Any) -> Any:
    """The same with fewer digits, and without what JSON cannot say."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS_KEPT}g}") if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {name: short(one) for name, one in value.items()}
    return [short(one) for one in value] if isinstance(value, (list, tuple)) else value


def write(path: Path, told: dict[str, Any], found: list[dict[str, Any]]) -> None:
    """One line a game, so that changes can be read."""
    lines = ",\n".join(json.dumps(one) for one in found)
    text = f'{{"about": {json.dumps(told)},\n"games": [\n{lines}\n]}}\n'
    write_whole(path, text.encode())


HEAD = f"{'':<22}{'in-sample':>13}{'shuffled':>9}{'no ass.':>10}{'by curve':>10}   AUC (95 %)"


def lines(one: dict[str, Any]) -> Iterator[str]:
    """The first question's answer of one game, for a terminal."""
    game = one["game"]
    yield (
        f"{game['data']} {game['training']} {game['canary']}: {game['models']:,} models, epsilon "
        f"{one['claim']:.2f}, accuracy {100 * one['accuracy']:.1f} %"
    )
    for view in (PLAIN, BAYESIAN):
        found = one["released"][str(view)]
        for attack, bounds in found["bounds"].items():
            words = f"  {view} {attack:<13}" if view == PLAIN else f"  {view!s:<7}{attack:<12}"
            estimate, spread, null, _ = found["estimates"].get(attack, (None,) * 4)
            published = " " * 22 if null is None else f"{estimate:6.2f} ± {spread:4.2f}{null:9.2f}"
            curve = max((b for kind, b in bounds.items() if kind != "none"), default=None)
            certified = f"{bounds['none']:10.2f}" + (
                "         -" if curve is None else f"{curve:10.2f}"
            )
            area = Estimate(*found["aucs"][attack][:2]) if attack in found["aucs"] else ""
            yield f"{words:<22}{published}{certified}   {area}"


@click.command()
@click.option("--only", default="", help="What begins so: 'digits', 'digits crafted blank'.")
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1, show_default=True)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Journals; goes on from what is there."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the result.")
@click.option("--judged", is_flag=True, help="Only what has been judged; play nothing.")
def main(
    *,
    only: str,
    scale: float,
    workers: int,
    keep: Path | None,
    json_file: Path | None,
    judged: bool,
) -> None:
    """Play every game, judge it by each way of releasing, and write what the notebook reads."""
    wanted = [game.scaled(scale) for game in games() if game.name.startswith(only)]
    if not wanted:
        raise click.UsageError(f"nothing is called {only!r}")
    for game in wanted:
        game.config()  # refused, if at all, before anything is played
    told, found = about(command("bayesian.questions"), scale=scale, versions=dict(versions())), []
    click.echo(HEAD)
    with kept(keep) as folder:
        for one in play_all(wanted, folder, workers, views(), judged):
            found.append(one)
            click.echo("\n".join(lines(one)))
            if json_file:
                write(json_file, told, found)


if __name__ == "__main__":
    main()
