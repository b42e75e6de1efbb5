"""Which broken DP-SGD trainers are caught, how soon, and that correct ones are not.

Each mutant and a correct twin of it (the same recipe, the same adversary and score) is audited with
more and more models, in a series that is fixed beforehand, until a bound is above its claim or the
budget is spent. A bound by the claim's curve refutes what the accountant says; one that assumes
nothing refutes the bare (epsilon, delta), too. Either holds at 99.9 % over the whole series: each
look has its share of the error.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from mutants.adversary import Watched
from mutants.cases import CASES, Case
from mutants.trainer import DELTA, Correct
from prefixes import Prefixes

LOOKS = (10, 20, 40, 80, 160, 320)
"""Models in each world."""

ERROR = 0.001
"""How likely any look at a series is to be wrong, at most."""

SURE = 1 - ERROR / len(LOOKS)
"""The confidence of one look."""

COLUMNS = {"by curve": "rank-test", "outright": "exact-scan"}


@dataclass(frozen=True)
class Column:
    """What a series showed: its largest bound, and the models and seconds until it was there.

    The bound is above the claim where it is `caught`; else it is what the whole budget showed.
    """

    epsilon: float
    models: int
    seconds: float
    caught: bool


@dataclass(frozen=True)
class Audited:
    """A trainer's claim, and what refutes it."""

    epsilon: float
    columns: dict[str, Column]

    @property
    def caught(self) -> bool:
        """By either."""
        return any(column.caught for column in self.columns.values())


@dataclass(frozen=True)
class Found:
    """A mutant beside its correct twin."""

    case: Case
    mutant: Audited
    twin: Audited

    def summary(self) -> dict[str, Any]:
        """What is written as JSON."""
        told = {"name": self.case.name, "flaw": self.case.flaw, "hidden": self.case.hidden}
        return {**told, "mutant": asdict(self.mutant), "twin": asdict(self.twin)}


def audit(case: Case, trainer: type[Correct], looks: Sequence[int]) -> Audited:
    """Train all models of the budget, then look at more and more of them."""
    import dpaudit as dp
    from dpaudit.seeds import derive

    mechanism = Watched(trainer, case.recipe)
    pair = case.adversary.pair(dp.data.load("digits"), case.recipe.size)
    seed = derive(0, "mutants", case.name, trainer.__name__) >> 32
    with tempfile.TemporaryDirectory() as out, ThreadPoolExecutor(1) as alone:
        run = dp.play(mechanism, pair, models=2 * looks[-1], out=out, seed=seed, workers=alone)
        models = Prefixes.read(run.journal, case.attack())
    claim = mechanism.claim.epsilon
    return Audited(claim, {n: series(models, e, claim, looks) for n, e in COLUMNS.items()})


def series(models: Prefixes, estimator: str, claim: float, looks: Sequence[int]) -> Column:
    """Look until a bound is above the claim."""
    best = judging = 0.0
    for per_world in looks:
        bound, seconds = models.judge(per_world, estimator, SURE)
        best, judging = max(best, bound), judging + seconds
        if best > claim:
            break
    return Column(best, 2 * per_world, models.training(per_world) + judging, best > claim)


def audits(wanted: Sequence[Case], looks: Sequence[int]) -> Iterator[Found]:
    """One after another, as many at once as there are cores."""
    from dpaudit.executors import cores, local_pool

    with local_pool(cores()) as pool:
        started = [
            (case, [pool.submit(audit, case, t, looks) for t in (case.mutant, Correct)])
            for case in wanted
        ]
        for case, both in started:
            yield Found(case, *(future.result() for future in both))


HEAD = (
    f"{'':<22}{'':>7}  {'by curve':>21}  {'outright':>21}  {'its correct twin':>24}\n"
    f"{'mutant':<22}{'claim':>7}  {'bound':>7}{'models':>7}{'s':>7}  {'bound':>7}{'models':>7}"
    f"{'s':>7}  {'claim':>6}{'curve':>7}{'outr.':>6}{'alarm':>6}"
)


def line(found: Found) -> str:
    """A row of the table."""
    told = "".join(f"  {cell(column)}" for column in found.mutant.columns.values())
    curve, outright = (column.epsilon for column in found.twin.columns.values())
    alarm = "ALARM" if found.twin.caught else "no"
    twin = f"{found.twin.epsilon:6.2f}{curve:7.2f}{outright:6.2f}{alarm:>6}"
    return f"{found.case.name:<22}{found.mutant.epsilon:7.2f}{told}  {twin}"


def cell(column: Column) -> str:
    """The bound with what it took to be above the claim; without, if it is not."""
    if not column.caught:
        return f"{column.epsilon:7.2f}{'-':>7}{'-':>7}"
    return f"{column.epsilon:7.2f}{column.models:7,}{column.seconds:7.1f}"


def summed_up(found: Sequence[Found], looks: Sequence[int]) -> list[str]:
    """How many are caught, who is not and why, and how many alarms were false."""
    caught = sum(one.mutant.caught for one in found)
    by = {n: sum(one.mutant.columns[n].caught for one in found) for n in COLUMNS}
    alarms = sum(one.twin.caught for one in found)
    chance = 100 * ERROR * len(COLUMNS) * len(found)
    told = [
        f"{caught} of {len(found)} mutants caught, {by['by curve']} by the claim's curve and "
        f"{by['outright']} outright;",
        f"{alarms} alarms on {len(found)} correct twins (any at all: by chance at most "
        f"{chance:.2g} % of times)",
    ]
    hidden = [one for one in found if not one.mutant.columns["outright"].caught]
    return [*told, *(explained(hidden, looks[-1]) if hidden else [])]


def explained(hidden: Sequence[Found], per_world: int) -> list[str]:
    """Why some are not caught by what assumes nothing."""
    from dpaudit.estimators import ExactScan

    most = ExactScan(SURE).ceiling(per_world, per_world, DELTA)
    told = [
        f"\nNot caught outright by {2 * per_world:,} models, which without any assumption show an "
        f"epsilon of at most {most:.2f}:"
    ]
    for one in hidden:
        above = f"; the claim of {one.mutant.epsilon:.2f} is beyond reach"
        why = one.case.hidden or "takes more models"
        told.append(f"  {one.case.name}: {why}{above if one.mutant.epsilon > most else ''}")
    return told


@click.command()
@click.option("--only", default="", help="One mutant, by its name.")
@click.option(
    "--models",
    type=click.IntRange(2 * LOOKS[0]),
    default=2 * LOOKS[-1],
    show_default=True,
    help="The budget of each audit.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
def main(only: str, models: int, json_file: Path | None) -> None:
    """Audit every mutant and its correct twin, and tell which are caught."""
    wanted = [case for case in CASES if only in ("", case.name)]
    if not wanted:
        names = ", ".join(case.name for case in CASES)
        raise click.ClickException(f"no mutant is called {only!r}; there are {names}")
    looks = [n for n in LOOKS if 2 * n <= models]
    click.echo(
        f"At most {2 * looks[-1]:,} models an audit, half with the canary; delta 1e-5; each "
        f"bound at {100 * (1 - ERROR):g} % over looks after\n"
        f"{', '.join(f'{2 * n:,}' for n in looks)} models; seconds are of one core, training and "
        "judging together\n"
    )
    click.echo(HEAD)
    found: list[Found] = []
    for one in audits(wanted, looks):
        found.append(one)
        click.echo(line(one))
        if json_file:
            json_file.write_text(json.dumps([f.summary() for f in found], indent=1) + "\n")
    click.echo("\n" + "\n".join(summed_up(found, looks)))


if __name__ == "__main__":
    main()
