"""Audits of networks with Laplace noise, against what they leak in truth.

    DPAUDIT_DATA=FOLDER python -m reproductions.laplace.audits

prints, for each case, the claim and its unit, what leaks in truth where that is known, and what is
shown of it with 1,000 and with 20,000 releases a world: by the exact scan, which decides a run, and
by counted errors of a rule that half of the releases chose. Some minutes. Without DPAUDIT_DATA the
network on Adult is left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from dpaudit import data as datasets
from dpaudit.audit.preparation import with_known
from dpaudit.canaries import Replaced
from dpaudit.errors import BadInput
from dpaudit.estimators import ClopperPearson, ExactScan
from dpaudit.estimators.trials import Trials
from dpaudit.papers.laplace import (
    Counterexample,
    Laplace,
    LaplaceAnonymizedLearning,
    LaplaceAnonymizingFirst,
    LaplaceLearningFirst,
    Negative,
    Perceptron,
    Thresholds,
    WorstCase,
)
from dpaudit.papers.laplace.noise import leak
from dpaudit.protocols import CanaryBuilder, Mechanism
from dpaudit.rates import BoundCriterion
from dpaudit.seeds import derive, trials
from dpaudit.types import Data, Pair, Records
from reproductions.laplace import adult
from reproductions.made import about

CHUNK = 500

LABEL, NEGATIVE = Replaced(), Negative()


@dataclass(frozen=True)
class Case:
    """What is audited, and on how many releases a world."""

    name: str
    make: Callable[[Data], Mechanism]
    canary: CanaryBuilder = LABEL
    sizes: tuple[int, ...] = (1000, 20_000)
    raw: bool = False


def shifted(parameters: int, shift: float, raw: bool = False) -> Case:
    """Nothing is trained: so many parameters move by this part of their range."""
    name = f"LearningFirst, {parameters:,} moved by {shift:.0%}"
    return Case(
        name + (", raw scores" if raw else ""),
        lambda data: LaplaceLearningFirst(data, worst=WorstCase(shift, parameters)),
        raw=raw,
    )


def counterexample(later: int) -> Case:
    """One parameter after so many batches that do not hold the record."""
    return Case(
        f"Theorem 4, {later} later batches",
        lambda data: LaplaceAnonymizedLearning(data, counterexample=Counterexample(later)),
    )


MADE_UP = (
    *(shifted(*case) for case in ((1, 1.0), (10, 0.1), (10, 1.0), (100, 0.1), (100, 1.0))),
    shifted(1000, 0.1),
    shifted(1, 0.1),
    shifted(1, 0.1, raw=True),
    *map(counterexample, (0, 1, 10, 100)),
)

DIGITS = (
    Case("LearningFirst, digits", LaplaceLearningFirst),
    Case(
        "LearningFirst, digits, one parameter",
        lambda data: LaplaceLearningFirst(data, unit="parameter"),
    ),
    Case("AnonymizedLearning, digits, updates", LaplaceAnonymizedLearning, sizes=(200,)),
    Case("AnonymizingFirst, digits", LaplaceAnonymizingFirst, NEGATIVE),
)


def _one_group(data: Data) -> Mechanism:
    return LaplaceAnonymizingFirst(data, epsilon=1.0, k=len(data.pool))


ONE_COLUMN = (Case("AnonymizingFirst, one column", _one_group, NEGATIVE),)

ADULT = (
    Case("LearningFirst, Adult", lambda data: _on_adult(data, "model")),
    Case("LearningFirst, Adult, trained longer", lambda data: _on_adult(data, "model", 20, 0.2)),
    Case(
        "LearningFirst, Adult, so, one parameter",
        lambda data: _on_adult(data, "parameter", 20, 0.2),
    ),
)


def _on_adult(data: Data, unit: str, epochs: int = 15, lr: float = 0.02) -> Mechanism:
    """By default as in `utility.py`; longer, or faster, and one record moves all of it."""
    training, thresholds = Perceptron(epochs, lr=lr), Thresholds("-0.5,0.5", "-0.5,0.5")
    return LaplaceLearningFirst(data, training=training, thresholds=thresholds, unit=unit)


def adult_data() -> Data:
    """Nine folds to train on."""
    x, y, _ = adult.load()
    train, test = next(adult.folds(y))
    records = Records(x.astype(np.float32)[:, None, None, :], y)
    # Few to test on: what is asked here is how much leaks.
    pool, rest = (Records(records.x[rows], records.y[rows]) for rows in (train, test[:100]))
    return Data("Adult", pool, rest, rest, classes=2)


def one_column() -> Data:
    """Records that are all 0, which one may change by as much as all of the noise is for."""
    records = Records(np.zeros((40, 1, 1, 1), np.float32), np.zeros(40, np.int64))
    return Data("one column", records, records, records, classes=2)


def scored(case: Case, mechanism: Mechanism, pair: Pair, n: int, seed: int) -> Trials:
    """The attack's scores of n releases in each world."""
    attack = Laplace().raw() if case.raw else Laplace()
    wanted, features = trials(seed, 2 * n), []
    for i in range(0, len(wanted), CHUNK):
        seen = mechanism.run(pair, wanted[i : i + CHUNK])
        # Bounds are about scores alone, so that no more than these is kept.
        stacked = {name: np.stack([o[name] for o in seen]) for name in seen[0]}
        features.append(attack.features(stacked, pair.given))
    return Trials(np.concatenate(features), np.array([t.world for t in wanted]), "laplace")


def audited(case: Case, data: Data, most: int, seed: int) -> dict[str, Any]:
    """The claim of a case, the truth, and what is shown of it."""
    mechanism = case.make(data)
    pair = with_known(mechanism, case.canary.build(data, seed))
    claim = mechanism.claim
    true = leak(pair.given) if "scale" in pair.given else None
    row: dict[str, Any] = {
        "case": case.name,
        "claim": claim.epsilon,
        "unit": claim.unit,
        "true": None if true is None else round(true, 4),
    }
    for n in sorted({min(size, most) for size in case.sizes}):
        # Noise of its own, so that one unlucky draw is not in several cases.
        seen = scored(case, mechanism, pair, n, derive(seed, case.name, n))
        scores = replace(seen.split(seen.features[:, 0]), raw=case.raw)
        choosing, judging = seen.halves()
        rule = choosing.fit(Laplace(), BoundCriterion(0.0))
        row[f"scan_{n}"] = round(ExactScan().bound(scores, 0.0).epsilon, 3)
        row[f"counts_{n}"] = round(ClopperPearson().bound(judging.count(rule), 0.0).epsilon, 3)
    return row


def lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table: a bound that is above the claim refutes it."""
    sizes = sorted({int(key.split("_")[1]) for row in rows for key in row if "_" in key})
    heads = "".join(f"{f'scan {n:,}':>14}{f'counts {n:,}':>16}" for n in sizes)
    yield f"{'case':42}{'unit':16}{'claim':>6}{'true':>9}{heads}"
    for row in rows:
        true = "" if row["true"] is None else f"{row['true']:.2f}"
        values = "".join(
            f"{_shown(row, f'scan_{n}'):>14}{_shown(row, f'counts_{n}'):>16}" for n in sizes
        )
        yield f"{row['case']:42}{row['unit']:16}{row['claim']:6.2f}{true:>9}{values}"


def _shown(row: Mapping[str, Any], name: str) -> str:
    return f"{row[name]:.2f}" if name in row else ""


@click.command()
@click.option("--most", type=click.IntRange(4), default=20_000, help="Releases a world, at most.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Also write it here.")
def main(most: int, seed: int, file: Path | None) -> None:
    """Audit, print, and write down."""
    digits = datasets.load("digits")
    sets = [(digits, MADE_UP), (one_column(), ONE_COLUMN), (digits, DIGITS)]
    if "DPAUDIT_DATA" in os.environ:
        try:
            sets.append((adult_data(), ADULT))
        except BadInput as error:
            raise click.UsageError(str(error)) from error
    rows = [audited(case, data, most, seed) for data, cases in sets for case in cases]
    print(*lines(rows), sep="\n")
    if file:
        made = about("make laplace", ("numpy",))
        told = {"about": made, "seed": seed, "confidence": 0.95, "rows": rows}
        file.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
