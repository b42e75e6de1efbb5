"""Which broken DP-SGD trainers are caught, how soon, and that correct ones are not.

Each mutant and a correct twin of it (the same recipe, the same adversary and score) is audited with
more and more models, in a series that is fixed beforehand, until a bound is above its claim or the
budget is spent. A bound by the claim's curve refutes what the accountant says; it trusts the rate
and the steps that were accounted, so that a flaw there shows as too little noise. One that assumes
nothing refutes the bare (epsilon, delta), too. Either holds at 99.9 % over the whole series: each
look has a share of the error, in proportion to its models.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from mutants.adversary import Watched
from mutants.cases import CASES, Case
from mutants.trainer import DELTA, Correct
from reproductions.tightness.judged import Models

SERIES = (20, 40, 80, 160, 320, 640)
"""Models in each world, as many looks as a budget has room for."""

ERROR = 0.001
"""How likely any look at a series is to be wrong, at most."""

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
        told = {n: getattr(self.case, n) for n in ("name", "flaw", "hidden", "models")}
        return {**told, "mutant": asdict(self.mutant), "twin": asdict(self.twin)}


def within(models: int) -> list[int]:
    """The looks of a budget."""
    return [n for n in SERIES if 2 * n <= models]


def sure(per_world: int, looks: Sequence[int]) -> float:
    """The confidence of one look: all of them together err as seldom as one is to."""
    return 1 - ERROR * per_world / sum(looks)


def audit(case: Case, trainer: type[Correct], folder: Path) -> Audited:
    """Train all models of the budget, then look at more and more of them."""
    import dpaudit as dp
    from dpaudit.seeds import derive

    mechanism = Watched(trainer, case.recipe)
    pair = case.adversary.pair(dp.data.load("digits"), case.recipe.size)
    seed = derive(0, "mutants", case.name, trainer.__name__) >> 32
    out = folder / f"{case.name}-{trainer.__name__}"
    with ThreadPoolExecutor(1) as alone:
        run = dp.play(mechanism, pair, models=case.models, out=out, seed=seed, workers=alone)
    models = Models.of(run.journal, case.attack())
    claim, looks = mechanism.claim.epsilon, within(case.models)
    return Audited(claim, {n: series(models, e, claim, looks) for n, e in COLUMNS.items()})


def series(models: Models, estimator: str, claim: float, looks: Sequence[int]) -> Column:
    """Look until a bound is above the claim."""
    best = judging = 0.0
    for per_world in looks:
        bound, seconds = models.first(per_world, estimator, sure(per_world, looks))
        best, judging = max(best, bound), judging + seconds
        if best > claim:
            break
    return Column(best, 2 * per_world, models.training(per_world) + judging, best > claim)


def audits(wanted: Sequence[Case]) -> Iterator[Found]:
    """One after another, as many at once as there are cores."""
    from dpaudit.executors import cores, local_pool

    # A folder of this process, which outlives its workers and tidies up after them.
    passing = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with passing as folder, local_pool(cores()) as pool:
        out = Path(folder)
        started = [
            (case, [pool.submit(audit, case, t, out) for t in (case.mutant, Correct)])
            for case in wanted
        ]
        for case, both in started:
            yield Found(case, *(future.result() for future in both))


def budgets(wanted: Sequence[Case]) -> str:
    """How many models an audit may have, and who may have others."""
    usual = min(case.models for case in wanted)
    others = [f"{case.models:,} for {case.name}" for case in wanted if case.models != usual]
    return ", ".join([f"{usual:,} models", *others])


HEAD = (
    f"{'':<28}{'by curve':>20}{'no assumpt.':>20}{'':>10}{'its correct twin':>27}\n"
    f"{'mutant':<21}{'claim':>7}{'bound':>7}{'models':>7}{'s':>6}{'bound':>7}{'models':>7}"
    f"{'s':>6}{'caught':>10}{'claim':>8}{'curve':>7}{'none':>6}{'alarm':>6}"
)


def line(found: Found) -> str:
    """A row of the table."""
    mutant, twin = found.mutant, found.twin
    cells = "".join(cell(column) for column in mutant.columns.values())
    by = [name for name, column in mutant.columns.items() if column.caught]
    caught = "both ways" if len(by) == len(COLUMNS) else "".join(by) or "no"
    curve, free = (column.epsilon for column in twin.columns.values())
    alarm = "ALARM" if twin.caught else "no"
    return (
        f"{found.case.name:<21}{mutant.epsilon:7.2f}{cells}{caught:>10}"
        f"{twin.epsilon:8.2f}{curve:7.2f}{free:6.2f}{alarm:>6}"
    )


def cell(column: Column) -> str:
    """The bound with what it took to be above the claim; without, if it is not."""
    if not column.caught:
        return f"{column.epsilon:7.2f}{'-':>7}{'-':>6}"
    return f"{column.epsilon:7.2f}{column.models:7,}{column.seconds:6.1f}"


def summed_up(found: Sequence[Found]) -> list[str]:
    """How many are caught, who is not and why, and how many alarms were false."""
    caught = sum(one.mutant.caught for one in found)
    by = {n: sum(one.mutant.columns[n].caught for one in found) for n in COLUMNS}
    alarms = sum(one.twin.caught for one in found)
    chance = 100 * ERROR * len(COLUMNS) * len(found)
    told = [
        f"{caught} of {len(found)} mutants caught, {by['by curve']} by the claim's curve and "
        f"{by['outright']} with no assumptions;",
        f"{alarms} alarms on {len(found)} correct twins (the chance of any alarm is at most "
        f"{chance:.2g} %)",
    ]
    hidden = [one for one in found if not one.mutant.columns["outright"].caught]
    return [*told, *(explained(hidden) if hidden else [])]


def explained(hidden: Sequence[Found]) -> list[str]:
    """The reasons why some are not caught with no assumptions."""
    from dpaudit.estimators import ExactScan

    told = ["", "Not caught with no assumptions:"]
    for one in hidden:
        *_, last = looks = within(one.case.models)
        most = ExactScan(sure(last, looks)).ceiling(last, last, DELTA)
        above = f"; no {2 * last:,} models can show more than {most:.2f} with no assumptions"
        why = one.case.hidden or "takes more models"
        told.append(f"  {one.case.name}: {why}{above if one.mutant.epsilon > most else ''}")
    return told


@click.command()
@click.option("--only", default="", help="One mutant, by its name.")
@click.option(
    "--models",
    type=click.IntRange(2 * SERIES[0]),
    help="The budget of an audit; by default 640, and 1,280 for what is hard to see.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
def main(only: str, models: int | None, json_file: Path | None) -> None:
    """Audit every mutant and its correct twin, and tell which are caught."""
    wanted = [case for case in CASES if only in ("", case.name)]
    if not wanted:
        names = ", ".join(case.name for case in CASES)
        raise click.UsageError(f"no mutant is called {only!r}; there are {names}")
    if models is not None:
        wanted = [replace(case, models=2 * within(models)[-1]) for case in wanted]
    most = max(case.models for case in wanted)
    click.echo(
        f"Each bound at {100 * (1 - ERROR):g} % over looks after "
        f"{', '.join(f'{2 * n:,}' for n in within(most))} models, half with the canary; "
        f"delta 1e-5.\nBudgets: {budgets(wanted)}. Seconds are of one core, to train and to "
        "judge.\n"
    )
    click.echo(HEAD)
    found: list[Found] = []
    for one in audits(wanted):
        found.append(one)
        click.echo(line(one))
        if json_file:
            json_file.write_text(json.dumps([f.summary() for f in found], indent=1) + "\n")
    click.echo("\n" + "\n".join(summed_up(found)))


if __name__ == "__main__":
    main()
