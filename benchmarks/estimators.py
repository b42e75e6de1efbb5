"""Milliseconds of every estimator, at 1,000 + 1,000 and at 10,000 + 10,000 trials.

On scores of a Gaussian mechanism of mu = 1, on the decisions of the threshold in their middle,
their counts, and on as many guesses of one run. `first` finds no curve of the accountant in a
cache, whichever estimator was timed before; `later` finds those of its own first run. What counts
is the process's CPU time, which a busy machine disturbs least, imports left out. All take turns,
round after round; shown are medians. Where `privacy-estimates` is installed it takes its turns too,
on the same counts: it gives a bound alone, dpaudit its ceiling and its interval with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from beside import beside
from memory import highest_mb

from dpaudit.accounting import privacy_loss
from dpaudit.estimators import (
    GDP,
    PLD,
    ClopperPearson,
    EProcess,
    ExactScan,
    Jeffreys,
    JointBeta,
    OneRun,
    OneRunFDP,
    PairedAUC,
    Point,
    RankTest,
)
from dpaudit.results import Counts, Decisions, Guesses, Scores
from dpaudit.types import DPSGDCurve

DELTA = 1e-5

CURVES = {
    "q .1 T 100": DPSGDCurve(sample_rate=0.1, steps=100, noise_multiplier=1.0),
    "q .256 T 234": DPSGDCurve(sample_rate=0.256, steps=234, noise_multiplier=2.5),
    "q .01 T 1000": DPSGDCurve(sample_rate=0.01, steps=1000, noise_multiplier=0.7),
}
"""Of DP-SGD; the second is that of `dpaudit run` as it comes."""

CLOSED, JOINT_BETA, ACCOUNTANT = 100.0, 50.0, 3_000.0
SIMULATED = {1_000: 2_000.0, 10_000: 20_000.0}
"""The most milliseconds of a first run that dpaudit promises itself, at up to so many trials."""


@dataclass(frozen=True)
class Contender:
    """An estimator's run, and the bar it is to stay below; None where there is none."""

    run: Callable[[], float]
    bar: float | None


@dataclass(frozen=True)
class Timed:
    """Milliseconds, what the estimator said, and the bar."""

    first: float
    later: float
    epsilon: float
    bar: float | None

    @property
    def verdict(self) -> str:
        """The bar, and whether it is met."""
        if self.bar is None:
            return "-"
        return f"{self.bar:,.0f} {'met' if self.first < self.bar else 'MISSED'}"


def trials(n: int) -> tuple[Scores, Decisions, Counts, Guesses]:
    """The same trials as every kind of estimator takes them."""
    draw = np.random.default_rng(0)
    scores = Scores(draw.normal(size=n), draw.normal(size=n) + 1.0)
    decisions = Decisions(scores.out > 0.5, scores.inn > 0.5)
    counts = Counts(fp=int(decisions.out.sum()), out=n, fn=int((~decisions.inn).sum()), inn=n)
    return scores, decisions, counts, Guesses(2 * n, 2 * n, 2 * n - counts.fp - counts.fn)


def contenders(n: int) -> dict[str, Contender]:
    """Every estimator, by its name in the registry and the curve that it is given."""
    scores, decisions, counts, guesses = trials(n)
    simulated = next((bar for most, bar in SIMULATED.items() if n <= most), None)

    def closed(estimator: Any, outcome: Any, bar: float | None = CLOSED) -> Contender:
        return Contender(lambda: float(estimator.bound(outcome, DELTA).epsilon), bar)

    found = {
        "point": Contender(lambda: Point().epsilon(counts, DELTA), CLOSED),
        "clopper-pearson": closed(ClopperPearson(), counts),
        "jeffreys": closed(Jeffreys(), counts),
        "joint-beta": closed(JointBeta(), counts, JOINT_BETA),
        "gdp": closed(GDP(), counts),
        "one-run": closed(OneRun(), guesses),
        "one-run-fdp": closed(OneRunFDP(), guesses),
        "e-process": closed(EProcess(), decisions, None),
        "paired-auc, pure": closed(PairedAUC("pure"), scores),
        "paired-auc, gaussian": closed(PairedAUC("gaussian"), scores),
        "exact-scan": closed(ExactScan(), scores, simulated),
        "rank-test, gaussian": closed(RankTest(), scores, simulated),
    }
    for name, curve in CURVES.items():
        found[f"pld, {name}"] = closed(PLD(curve), counts, ACCOUNTANT)
        found[f"paired-auc, {name}"] = closed(PairedAUC(curve), scores, ACCOUNTANT)
        found[f"rank-test, {name}"] = closed(RankTest(curve), scores, simulated)
    return found


def milliseconds(run: Callable[[], float]) -> tuple[float, float]:
    """Of CPU time, and what came out."""
    start = time.process_time()
    value = run()
    return 1e3 * (time.process_time() - start), value


def forget() -> None:
    """Empty the caches of the accountant's curves."""
    privacy_loss.sides.cache_clear()
    privacy_loss.epsilon.cache_clear()


def measure(n: int, rounds: int, only: str) -> tuple[dict[str, Timed], dict[str, Timed]]:
    """Every estimator at one size, and those of the other package."""
    ours = {name: one for name, one in contenders(n).items() if name.startswith(only)}
    peers = {name: run for name, run in beside(trials(n)[2], DELTA).items() if name in ours}
    first: dict[str, list[float]] = {}
    later: dict[str, list[float]] = {}
    said: dict[str, float] = {}
    for turn in range(rounds):
        for name, one in ours.items():
            forget()
            spent, said[name] = milliseconds(one.run)
            first.setdefault(name, []).append(spent)
            later.setdefault(name, []).append(milliseconds(one.run)[0])
            if name in peers and not (turn and later[f"their {name}"][0] > 1e3):
                # A search that takes seconds is made but once.
                spent, said[f"their {name}"] = milliseconds(peers[name])
                later.setdefault(f"their {name}", []).append(spent)
    timed = {
        name: Timed(median(first[name]), median(later[name]), said[name], one.bar)
        for name, one in ours.items()
    }
    theirs = {name: f"their {name}" for name in peers}
    return timed, {
        name: Timed(later[key][0], median(later[key]), said[key], None)
        for name, key in theirs.items()
    }


def table(n: int, timed: dict[str, Timed], peers: dict[str, Timed]) -> list[str]:
    """A line per estimator, then one for each that the other package has."""
    head = f"{n:,} + {n:,} trials"
    lines = [f"{head:<28}{'first ms':>10}{'later ms':>10}{'epsilon':>10}  bar of the first, ms"]
    for name, one in timed.items():
        line = f"  {name:<26}{one.first:10.1f}{one.later:10.1f}{one.epsilon:10.4f}  "
        lines.append(line + one.verdict)
    if peers:
        lines.append(f"{'privacy-estimates':<28}{'':10}{'ms':>10}{'epsilon':>10}  times dpaudit's")
    for name, one in peers.items():
        ratio = one.later / timed[name].later
        lines.append(f"  {name:<26}{'':10}{one.later:10.1f}{one.epsilon:10.4f}  {ratio:,.1f}")
    return lines


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--trials",
    "sizes",
    type=click.IntRange(1),
    multiple=True,
    default=(1_000, 10_000),
    show_default=True,
    help="In each world; may be given several times.",
)
@click.option("--only", default="", help="Estimators whose name begins so.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
def main(rounds: int, sizes: tuple[int, ...], only: str, json_file: Path | None) -> None:
    """Time every estimator and hold it against its bar."""
    for name, one in contenders(10).items():
        if name.startswith(only):
            one.run()  # imports
    before, results = highest_mb(), {}
    for n in sizes:
        timed, peers = measure(n, rounds, only)
        click.echo("\n".join(["", *table(n, timed, peers)]))
        results[n] = {
            "dpaudit": {name: asdict(one) for name, one in timed.items()},
            "privacy-estimates": {name: asdict(one) for name, one in peers.items()},
        }
        click.echo(f"Peak memory above that of ten trials: {highest_mb() - before:.0f} MB")
    if not beside(Counts(1, 2, 1, 2), DELTA):
        click.echo("\nprivacy-estimates is not installed: nothing to stand beside")
    if json_file:
        json_file.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
