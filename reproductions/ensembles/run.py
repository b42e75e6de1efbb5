"""Aggregated private learners: the paper's experiments, and audits of what is exchanged.

    python -m reproductions.ensembles.run [--scale 1] [--only Fig.] [--json FILE]

Accuracies are means over several runs, each with data or a split of its own, of means over
organisations; behind ± is the deviation over organisations. Bounds hold with 95 % each.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from dpaudit.report.formats import at_least
from reproductions.ensembles.audits import Audited, aggregates, audited, audits
from reproductions.ensembles.claims import claims
from reproductions.ensembles.experiments import Found, experiments
from reproductions.made import about

RUNS = 100


def line(one: Audited) -> str:
    """A row of the table of audits."""
    claim = "none" if one.claim is None else f"{one.claim:.2f}"
    largest = "" if one.largest is None else f"{one.largest:.2f}"
    limit = "" if one.limit is None else f"{one.limit:.2f}"
    return (
        f"{one.name:<38}{one.per_world:>8,}{claim:>7}{at_least(one.proven):>8}{at_least(one.counted):>9}{one.ceiling:>9.2f}"
        f"{largest:>9}{limit:>7}  {one.verdict}"
    )


HEAD = (
    f"{'audit':<38}{'a world':>8}{'claim':>7}{'proven':>8}{'counted':>9}{'ceiling':>9}"
    f"{'largest':>9}{'limit':>7}  verdict"
)


def echo(found: dict[str, Any]) -> None:
    """An experiment, in a few lines."""
    mean, std = found["local"]
    click.echo(
        f"{found['name']}: {found['organisations']} organisations, lam {found['lam']:g}; pooled "
        f"{found['pooled']:.3f}, local {mean:.3f} ± {std:.3f}"
        + (f" (paper: {found['paper']})" if found["paper"] else "")
    )
    for i, epsilon in enumerate(found["epsilons"]):
        (alone, _), (mean, std) = found["private"][i], found["aggregated"][i]
        click.echo(
            f"  epsilon {epsilon:<5g} one private {alone:.3f}, aggregated {mean:.3f} ± {std:.3f}"
        )


@click.command()
@click.option("--only", default="", help="What begins so: 'Fig. 3', 'corner', 'seen'.")
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1, show_default=True)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Write the numbers here.")
def main(only: str, scale: float, file: Path | None) -> None:
    """Run every experiment and every audit, and say which claims hold."""
    from dpaudit.errors import DpauditError

    runs = max(1, round(RUNS * scale))
    try:
        found = list(_experiments(only, runs))
    except DpauditError as error:
        raise click.UsageError(
            f"{error}; set DPAUDIT_DATA to the folder that has pima.csv.gz"
        ) from error
    held = claims(found)
    for told in held:
        click.echo(told)
    click.echo(f"\n{HEAD}")
    judged = list(_audits(only, scale))
    if not found and not judged:
        raise click.UsageError(f"nothing is called {only!r}")
    if file:
        made = about("make ensembles", ("numpy",), scale=scale)
        file.write_text(_written(made, found, held, [one.summary() for one in judged]))


def _experiments(only: str, runs: int) -> Any:
    for one in experiments():
        if one.name.startswith(only):
            told = Found(one, [one.measured(seed) for seed in range(runs)]).summary()
            echo(told)
            yield told


def _audits(only: str, scale: float) -> Any:
    wanted = [a for a in audits() if a.name.startswith(only)]
    for one in wanted:
        done = audited(replace(one, per_world=max(20, round(one.per_world * scale))))
        click.echo(line(done))
        yield done
    if "seen".startswith(only) or only.startswith("seen"):
        for done in aggregates(max(20, round(10_000 * scale))):
            click.echo(line(done))
            yield done


def _written(
    made: dict[str, Any],
    found: Sequence[dict[str, Any]],
    held: Sequence[str],
    judged: Sequence[dict[str, Any]],
) -> str:
    """JSON with an experiment, a claim or an audit a line."""
    parts = {"experiments": found, "claims": held, "audits": judged}
    lists = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in parts.items()
    )
    return f'{{"about": {json.dumps(made)},\n{lists}\n}}\n'


if __name__ == "__main__":
    main()
