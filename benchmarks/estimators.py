"""Milliseconds per estimator, at 1,000 + 1,000 and at 10,000 + 10,000 trials.

On scores of a Gaussian mechanism of mu = 1: the first run, and the median of some more, which
find the accountant's curves in a cache. `privacy-estimates` stands beside if it is installed.
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

from dpaudit import privacy_loss
from dpaudit.estimators import PLD, ClopperPearson, ExactScan, PairedAUC, RankTest
from dpaudit.types import Counts, DPSGDCurve, Scores

DELTA = 1e-5
SIZES = (1_000, 10_000)
DPSGD = DPSGDCurve(sample_rate=0.1, steps=100, noise_multiplier=1.0)

ON_COUNTS: dict[str, Any] = {
    "clopper-pearson": ClopperPearson(),
    "pld (DP-SGD)": PLD(DPSGD),
}
ON_SCORES: dict[str, Any] = {
    "rank-test (gaussian)": RankTest(),
    "rank-test (DP-SGD)": RankTest(DPSGD),
    "exact-scan": ExactScan(),
    "paired-auc (gaussian)": PairedAUC("gaussian"),
    "paired-auc (pure)": PairedAUC("pure"),
}


def trials(n: int) -> tuple[Scores, Counts]:
    """Scores of both worlds, and the errors of the threshold in their middle."""
    draw = np.random.default_rng(0)
    scores = Scores(draw.normal(size=n), draw.normal(size=n) + 1.0)
    fp, fn = int((scores.out > 0.5).sum()), int((scores.inn <= 0.5).sum())
    return scores, Counts(fp=fp, out=n, fn=fn, inn=n)


def contestants(n: int) -> dict[str, Callable[[], float]]:
    """Each estimator as a call that gives its bound."""
    scores, counts = trials(n)
    calls = {name: _call(made, counts) for name, made in ON_COUNTS.items()}
    calls |= {name: _call(made, scores) for name, made in ON_SCORES.items()}
    return calls | _beside(counts)


def _call(estimator: Any, outcome: Any) -> Callable[[], float]:
    return lambda: float(estimator.bound(outcome, DELTA).epsilon)


def _beside(c: Counts) -> dict[str, Callable[[], float]]:
    """Clopper-Pearson by that package."""
    try:
        import privacy_estimates as other
    except ImportError:
        return {}

    def theirs() -> float:
        counts = other.AttackResults(FN=c.fn, FP=c.fp, TN=c.out - c.fp, TP=c.inn - c.fn)
        return float(other.compute_eps_lo_hi(counts, DELTA, 0.1, "beta")[0])

    return {"privacy-estimates (beta)": theirs}


@dataclass(frozen=True)
class Timed:
    """Milliseconds, and what the estimator said."""

    first: float
    later: float
    epsilon: float


def timed(call: Callable[[], float], repeats: int) -> Timed:
    """The first run and the median of the later ones."""
    value, times = 0.0, []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        value = call()
        times.append(1e3 * (time.perf_counter() - start))
    return Timed(times[0], median(times[1:]), value)


@click.command()
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, help="Runs after the first."
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write the numbers.")
def main(repeats: int, json_file: Path | None) -> None:
    """Time every estimator at two sizes."""
    results: dict[str, dict[int, Timed]] = {}
    privacy_loss.epsilon(0.5, 1, 9.0, "add-remove", DELTA)  # imports
    for n in SIZES:
        click.echo(
            f"\n{n:,} + {n:,} trials".ljust(27) + f"{'first ms':>12}{'later ms':>12}{'epsilon':>10}"
        )
        for name, call in contestants(n).items():
            found = results.setdefault(name, {})[n] = timed(call, repeats)
            click.echo(f"  {name:<24}{found.first:12.1f}{found.later:12.1f}{found.epsilon:10.3f}")
    if json_file:
        plain = {name: {n: asdict(one) for n, one in by.items()} for name, by in results.items()}
        json_file.write_text(json.dumps(plain, indent=2) + "\n")


if __name__ == "__main__":
    main()
