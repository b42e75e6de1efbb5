"""What Laplace noise leaves of a network on Adult: the paper's Fig. 5, with numbers.

    DPAUDIT_DATA=FOLDER python -m reproductions.laplace.utility

prints accuracy and macro-F1, means over ten folds, of a network without privacy, of the three
variants, of the majority class and of DP-SGD, from epsilon 0.1 to 100; some five minutes on two
cores.
An epsilon of `LearningFirst` and `AnonymizedLearning` is for each parameter, as the paper has it,
and beside it, with all of its noise, for the whole model, as that of the others is. Settings were
chosen on one fold, with a look at its results: none is private in that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from math import inf, sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.metrics import f1_score
from threadpoolctl import threadpool_limits

from dpaudit import accounting
from dpaudit.config.settings import Training
from dpaudit.errors import BadInput
from dpaudit.papers.laplace.anonymizing_first import Groups, records_of, rows_of
from dpaudit.papers.laplace.network import Limits, Network
from dpaudit.papers.laplace.noise import release
from dpaudit.papers.laplace.training import Anonymized, LaplaceRecipe, train
from dpaudit.seeds import generator
from dpaudit.types import Array, Records
from reproductions.laplace import adult
from reproductions.made import about

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
DELTA = 1e-5
"""Of DP-SGD alone; the others have none."""

WEIGHTS = Limits((-0.5, 0.5), (-0.5, 0.5))
UPDATES = Limits((-0.01, 0.01), (-0.01, 0.01))
DRAWS = 20
NOISE = 0.1
"""Of a mean's columns, about: groups are as large as that takes."""

PLAIN, MAJORITY = "no privacy", "majority class"
Score = tuple[float, float]
"""Accuracy and macro-F1."""


class Fold:
    """One fold: networks learn from some records, and are asked about the others."""

    def __init__(self, x: Array, y: Array, width: float, train: Array, test: Array) -> None:
        self.x, self.y, self.width = x[train], y[train], width
        self.test_x, self.test_y = x[test], y[test]
        self.network = Network.of(x.shape[1], hidden=3, width=16, classes=2)

    def recipe(self, epochs: int, lr: float) -> LaplaceRecipe:
        return LaplaceRecipe(self.network, epochs, batch=50, lr=lr, decay=0.001, seed=0)

    def score(self, said: Array) -> Score:
        macro = f1_score(self.test_y, said, average="macro", zero_division=0)
        return float(np.mean(said == self.test_y)), float(macro)

    def asked(self, parameters: Array) -> Score:
        return self.score(self.network.classify(parameters, self.test_x))

    def plain(self) -> Score:
        """The paper's settings but for the epochs: 40 instead of 500."""
        return self.asked(train(self.recipe(40, 0.01), self.x, self.y, None))

    def majority(self) -> Score:
        return self.score(np.full(len(self.test_y), np.bincount(self.y).argmax()))

    def anonymizing_first(self, epsilon: float, draw: np.random.Generator) -> Score:
        n = len(self.y)
        k = min(n // 2, round(sqrt(n * self.width / (NOISE * epsilon))))
        groups = Groups(n, max(1, k), self.width)
        means = groups.means(rows_of(self.x, self.y, 2))
        noisy = means + draw.laplace(size=means.shape) * groups.scale(epsilon)
        x, y = records_of(noisy, groups.sizes(), 2)
        return self.asked(train(self.recipe(5, 0.05), x, y, None))

    def learning_first(self) -> Callable[[float, np.random.Generator], Score]:
        trained = train(self.recipe(15, 0.02), self.x, self.y, WEIGHTS)
        low, high = WEIGHTS.of(self.network)

        def noisy(epsilon: float, draw: np.random.Generator) -> Score:
            """Mean of some draws, which are cheap and differ much."""
            scores = [
                self.asked(release(trained, low, high, (high - low) / epsilon, draw))
                for _ in range(DRAWS)
            ]
            return float(np.mean([a for a, _ in scores])), float(np.mean([f for _, f in scores]))

        return noisy

    def anonymized_learning(self, epsilon: float, draw: np.random.Generator) -> Score:
        training = Anonymized(self.recipe(1, 1.0), UPDATES, epsilon)
        parameters, _ = training.train(self.x, self.y, draw)
        return self.asked(parameters)

    def dpsgd(self, epsilon: float, seed: int) -> Score:
        from dpaudit.training.dpsgd import fit
        from dpaudit.training.predict import logits
        from dpaudit.training.recipe import Recipe

        n, columns = self.x.shape
        training = Training(epochs=10, batch=512, lr=0.5, network="mlp", dropout=0.0)
        recipe = Recipe(training, (1, 1, columns), classes=2)
        q, steps = recipe.sample_rate(n), recipe.steps(n)
        noise = accounting.noise_multiplier(epsilon, q, steps, DELTA, "pld")
        records = Records(_images(self.x), self.y)
        model = fit(replace(recipe, noise_multiplier=noise), records, seed).model
        return self.score(logits(model, _images(self.test_x)).argmax(axis=1))


def _images(x: Array) -> Array:
    return x.astype(np.float32).reshape(len(x), 1, 1, -1)


def measured(fold: Fold, number: int, epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """Of one fold, a row for each method and epsilon."""
    rows = [_row(PLAIN, None, "", fold.plain()), _row(MAJORITY, None, "", fold.majority())]
    learning_first, d = fold.learning_first(), fold.network.parameters
    for epsilon in epsilons:
        draw = generator(number, "laplace utility", str(epsilon))
        both = {"each parameter": epsilon, "whole model": epsilon / d}
        rows.append(
            _row("AnonymizingFirst", epsilon, "whole model", fold.anonymizing_first(epsilon, draw))
        )
        for unit, each in both.items():
            rows.append(_row("LearningFirst", epsilon, unit, learning_first(each, draw)))
            found = fold.anonymized_learning(each, draw)
            rows.append(_row("AnonymizedLearning", epsilon, unit, found))
        rows.append(_row("DP-SGD", epsilon, "whole model", fold.dpsgd(epsilon, number)))
    return [{**row, "fold": number} for row in rows]


def _row(method: str, epsilon: float | None, unit: str, score: Score) -> dict[str, Any]:
    return {
        "method": method,
        "epsilon": epsilon,
        "unit": unit,
        "accuracy": score[0],
        "macro_f1": score[1],
    }


def averaged(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Means and deviations over folds, a row for each method, unit and epsilon."""
    keys = dict.fromkeys((r["method"], r["unit"], r["epsilon"]) for r in rows)
    found = []
    for method, unit, epsilon in keys:
        of = [r for r in rows if (r["method"], r["unit"], r["epsilon"]) == (method, unit, epsilon)]
        told: dict[str, Any] = {"method": method, "unit": unit, "epsilon": epsilon}
        for name in ("accuracy", "macro_f1"):
            values = [r[name] for r in of]
            told[name] = round(float(np.mean(values)), 4)
            told[f"{name}_deviation"] = round(float(np.std(values)), 4)
        found.append({**told, "folds": len(of)})
    return found


def lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table, accuracy and macro-F1 by epsilon."""
    epsilons = list(dict.fromkeys(r["epsilon"] for r in found if r["epsilon"] is not None))
    for r in found:
        if r["epsilon"] is None:
            yield f"{r['method']}: accuracy {r['accuracy']:.3f}, macro-F1 {r['macro_f1']:.3f}"
    for name, title in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
        yield ""
        yield f"{title:38}" + "".join(f"{e:>8g}" for e in epsilons)
        for method, unit in dict.fromkeys((r["method"], r["unit"]) for r in found if r["unit"]):
            values = {
                r["epsilon"]: r[name] for r in found if r["method"] == method and r["unit"] == unit
            }
            yield f"{method}, {unit:<{36 - len(method)}}" + "".join(
                f"{values[e]:8.3f}" for e in epsilons
            )


def _measure(job: tuple[int, Sequence[float], int]) -> list[dict[str, Any]]:
    number, epsilons, most = job
    x, y, width = adult.load()
    x, y = x[:most], y[:most]
    train, test = list(adult.folds(y))[number]
    with threadpool_limits(limits=1, user_api="blas"):
        return measured(Fold(x, y, width, train, test), number, epsilons)


def _epsilons(_: click.Context, __: click.Parameter, text: str) -> tuple[float, ...]:
    """Numbers above 0, as they are written on the command line."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < epsilon < inf for epsilon in found):
        raise click.BadParameter(f"'{text}' is no list of numbers above 0, such as 0.1,1,10")
    return found


@click.command()
@click.option("--folds", type=click.IntRange(1, 10), default=10, help="How many of ten.")
@click.option(
    "--epsilons",
    default=",".join(f"{e:g}" for e in EPSILONS),
    show_default=True,
    callback=_epsilons,
)
@click.option("--records", type=click.IntRange(100), default=adult.ROWS, help="Only so many.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option("--json", "file", type=click.Path(path_type=Path), help="Also write it here.")
def main(
    folds: int, epsilons: tuple[float, ...], records: int, workers: int, file: Path | None
) -> None:
    """Measure, print, and write down."""
    try:
        adult.found()
    except BadInput as error:
        raise click.UsageError(str(error)) from error
    jobs = [(number, epsilons, records) for number in range(folds)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        rows = [row for fold in pool.map(_measure, jobs) for row in fold]
    averages = averaged(rows)
    print(*lines(averages), sep="\n")
    if file:
        made = about("make laplace", ("numpy",))
        settings = {"about": made, "records": records, "folds": folds, "delta": DELTA}
        file.write_text(json.dumps({**settings, "rows": averages}, indent=1) + "\n")


if __name__ == "__main__":
    main()
