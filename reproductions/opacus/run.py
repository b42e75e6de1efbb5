"""Opacus itself, audited as a user has it: its modes, its loaders, and what its users reported.

Every row trains by Opacus in two worlds that differ in one record, and holds two bounds against
what Opacus' own accountant says. `by curve` takes the training for DP-SGD of the sampling rate and
the steps that were accounted for: above the claim it refutes the accountant. The bound with
no assumptions refutes the bare (epsilon, delta) above the claim. All bounds of the table hold
together with 95 % confidence: a false alarm in any row has a chance of at most 5 %.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dpaudit.results import Scores
from dpaudit.types import IN, OUT, Claim
from reproductions.made import about, versions
from reproductions.opacus.cases import HEADS, Case, cases
from reproductions.tightness.run import kept

TOGETHER = 0.95
CONFIDENCE = 1 - (1 - TOGETHER) / (2 * len(cases()))
"""Of each of two bounds a row: what all of them together may err, divided by their number."""


@dataclass(frozen=True)
class Audited:
    """What came out of one case."""

    case: Case
    claim: float
    by_curve: float | None
    curve_ceiling: float | None
    outright: float
    outright_ceiling: float

    @property
    def verdict(self) -> str:
        """The strongest refutation of the two bounds."""
        if self.outright > self.claim:
            return "REFUTED, no assumptions"
        if self.by_curve is not None and self.by_curve > self.claim:
            return "REFUTED by curve"
        return "not refuted"

    def summary(self) -> dict[str, Any]:
        """What is written as JSON: the numbers as the table has them."""
        bounds = {"claim": self.claim, "by_curve": self.by_curve, "outright": self.outright}
        told = {name: bound and round(bound, 2) for name, bound in bounds.items()}
        return {
            "case": self.case.called,
            "per_world": self.case.per_world,
            **told,
            "verdict": self.verdict,
        }


def played(case: Case, folder: Path, pool: Executor) -> tuple[Case, Claim, Scores]:
    """Play a case; its claim, and the scores of all trainings."""
    import numpy as np

    from dpaudit import audit
    from dpaudit.attacks import Statistic
    from dpaudit.journal import Journal
    from dpaudit.judging.run_data import read_run
    from dpaudit.seeds import derive
    from reproductions.opacus.game import Opacus
    from reproductions.opacus.scores import SCORES

    mechanism, pair = Opacus(case.game), case.game.pair()
    # No seed serves two cases: the same luck in all of them would look like a finding.
    seed = derive(0, "opacus", case.called) >> 32
    out = folder / f"{case.called} {case.per_world}".replace(" ", "_")
    run = audit.play(mechanism, pair, 2 * case.per_world, out, seed, pool)
    with Journal.read(run.journal) as journal:
        whole = read_run(journal)
    claim, size = whole.claim, float(np.linalg.norm(pair.given["aim"]))
    noise = getattr(claim.curve, "noise_multiplier", case.game.training.noise_multiplier)
    score = Statistic(
        case.score,
        frozenset({"along", "rest"}),
        lambda seen, _: SCORES[case.score](case.game, noise, size, seen),
    )
    values = score.compute(whole.seen, whole.known)
    scores = Scores(out=values[whole.worlds == OUT], inn=values[whole.worlds == IN])
    return case, claim, scores


def judged(case: Case, claim: Claim, scores: Scores) -> Audited:
    """The bounds that the scores of all trainings show; nothing of a score was chosen by them."""
    from dpaudit.estimators import ExactScan, RankTest

    free = ExactScan(CONFIDENCE).bound(scores, claim.delta)
    curve = claim.curve and RankTest(claim.curve, CONFIDENCE).bound(scores, claim.delta)
    return Audited(
        case=case,
        claim=claim.epsilon,
        by_curve=curve and curve.epsilon,
        curve_ceiling=curve and curve.ceiling,
        outright=free.epsilon,
        outright_ceiling=free.ceiling,
    )


def audited(wanted: Sequence[Case], folder: Path) -> Iterator[Audited]:
    """Case after case, in their order; some are judged while others are played."""
    from dpaudit.executors import cores, local_pool

    with local_pool(cores()) as pool:
        waiting: deque[Future[Audited]] = deque()
        for case in wanted:
            waiting.append(pool.submit(judged, *played(case, folder, pool)))
            while waiting and waiting[0].done():
                yield waiting.popleft().result()
        yield from (each.result() for each in waiting)


HEAD = f"{'':<42}{'worlds':>13}{'claim':>8}{'by curve':>10}{'no assumpt.':>12}  "


def line(one: Audited) -> str:
    """A row of the table; `>` where the bound is all that so many trainings could show."""
    case = one.case
    curve = "-" if one.by_curve is None else shown(one.by_curve, one.curve_ceiling)
    return (
        f"  {case.name:<40}{f'{case.per_world:,} + {case.per_world:,}':>13}{one.claim:8.2f}"
        f"{curve:>10}{shown(one.outright, one.outright_ceiling):>12}  {one.verdict}"
    )


def shown(epsilon: float, ceiling: float | None) -> str:
    """A bound, and whether more could not have been shown."""
    return f"{'>' if ceiling is not None and epsilon >= ceiling else ''}{epsilon:.2f}"


@click.command()
@click.option("--only", default="", help="What begins so: 'modes', 'shuffled noise 1,'.")
@click.option("--scale", type=click.FloatRange(0, min_open=True), default=1, show_default=True)
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Journals; goes on from what is there."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
@click.option("--figure", type=click.Path(path_type=Path), help="Draw bounds against claims.")
def main(
    only: str, scale: float, keep: Path | None, json_file: Path | None, figure: Path | None
) -> None:
    """Audit Opacus, and hold every bound against what its accountant says."""
    wanted = [case.scaled(scale) for case in cases() if case.called.startswith(only)]
    if not wanted:
        raise click.UsageError(f"nothing is called {only!r}")
    found: list[Audited] = []
    told = versions("opacus", "torch")
    click.echo(
        f"Opacus {told['opacus']}, torch {told['torch']}; delta 1e-5; all bounds of the table hold "
        f"together with {100 * TOGETHER:g} %,\neach with {100 * CONFIDENCE:.2f} %; '>' is the most "
        f"that so many trainings can show\n\n{HEAD}verdict"
    )
    started = time.monotonic()
    with kept(keep) as folder:
        for one in audited(wanted, folder):
            if not found or found[-1].case.group != one.case.group:
                click.echo(f"{HEADS[one.case.group]}")
            found.append(one)
            click.echo(line(one))
    click.echo(f"\n{refuted(found)}; {time.monotonic() - started:.0f} s")
    if json_file:
        made = about("make opacus", ("opacus", "torch"), scale=scale)
        rows = ",\n".join(json.dumps(one.summary()) for one in found)
        json_file.write_text(f'{{"about": {json.dumps(made)},\n"rows": [\n{rows}\n]}}\n')
    if figure:
        from reproductions.opacus.figure import draw

        draw(found, figure)


def refuted(found: Sequence[Audited]) -> str:
    """How many claims do not hold."""
    wrong = sum(one.verdict != "not refuted" for one in found)
    return f"{wrong} of {len(found)} claims refuted"


if __name__ == "__main__":
    main()
